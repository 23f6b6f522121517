/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
 *
 * MLTCP-Reno for the Linux kernel: in congestion avoidance the window grows by F(bytes ratio) times what Reno's does
 * (S. Rajasekaran et al., "MLTCP", HotNets 2024). Loss and slow start are Reno's.
 *
 * A connection is of a job: that of its mark (SO_MARK), else that of its network namespace. What a job sends in an
 * iteration and how long it computes is given in the map `parameters`, or learned from the gaps between its
 * acknowledgments. What has been sent in the running iteration is in the map `iterations`, of each connection for
 * itself or of all connections of a job together.
 *
 * Compiled with -DALGORITHM=NAME of at most 13 characters; sockets choose it by that name (TCP_CONGESTION), namespaces
 * by net.ipv4.tcp_congestion_control. Its maps are called NAME_p, NAME_i and NAME_c.
 */
#include "vmlinux.h"

#define SEC(place) __attribute__((section(place), used))
#define KERNEL_FUNCTION __attribute__((section(".ksyms")))
#define INLINE static inline __attribute__((always_inline))
#define KIND(name, value) int(*name)[value]
#define TYPE(name, type) typeof(type) *name
#define JOINED_(name, ending) name##ending
#define JOINED(name, ending) JOINED_(name, ending)
#define TEXT_(name) #name
#define TEXT(name) TEXT_(name)

#define ONE 1024 /* of fixed-point numbers */
#define NEW_WINDOW 10 /* segments, at the beginning of an iteration */
#define LARGEST_WINDOW (1U << 20) /* segments: no window is larger */
#define NO_THRESHOLD 0x7fffffffU /* of a new connection */
#define LEARNED_FROM 3 /* whole iterations */
#define SHORTEST_GAP_NS 5000000 /* that counts as computing while one learns */
#define parameters JOINED(ALGORITHM, _p)
#define iterations JOINED(ALGORITHM, _i)
#define connections JOINED(ALGORITHM, _c)
#define NON_RESTRICTED 1 /* a namespace may have it as its default */
#define OF_NAMESPACE (1ULL << 32) /* keys of jobs: marks, or numbers of namespaces above this */
#define OF_CONNECTION (1ULL << 63) /* keys of iterations that are of one connection */

/* Of a job; that of key 0 is of all others. */
struct mltcp_job {
	__s32 slope; /* of F, in 1/ONE */
	__s32 intercept;
	__u64 total_bytes; /* in an iteration, of a connection or of the job; 0 to learn it */
	__u64 compute_time_ns; /* 0 to learn it */
	__u64 by_job; /* whether connections of a job count together */
};

/* The running iteration, and what is known of those before. */
struct mltcp_iteration {
	struct bpf_spin_lock lock;
	__u32 number; /* the first is 1 */
	__u64 bytes; /* acknowledged in it */
	__u64 last_ns; /* of the last acknowledgment, or of its beginning */
	__u64 total_bytes; /* learned: what the middle one of the last three had */
	__u64 compute_time_ns; /* learned: the shortest gap between two */
	__u64 longest_gap_ns; /* while it learns */
	__u64 learned; /* whole iterations seen */
	__u64 seen_bytes[LEARNED_FROM]; /* what the last of them had */
};

/* What a socket keeps for itself, in the room that the kernel gives to every algorithm. */
struct mltcp_connection {
	__u64 parameters_key;
	__u64 iteration_key;
	__u64 counted_bytes; /* of all that was ever acknowledged */
	__u32 iteration; /* in which its window was last made new */
	__u32 credit; /* segments that have not grown the window yet, in 1/ONE */
};

struct {
	KIND(type, BPF_MAP_TYPE_HASH);
	KIND(max_entries, 1024);
	TYPE(key, __u64);
	TYPE(value, struct mltcp_job);
} parameters SEC(".maps");

struct {
	KIND(type, BPF_MAP_TYPE_HASH);
	KIND(max_entries, 16384);
	TYPE(key, __u64);
	TYPE(value, struct mltcp_iteration);
} iterations SEC(".maps");

struct {
	KIND(type, BPF_MAP_TYPE_ARRAY);
	KIND(max_entries, 1);
	TYPE(key, __u32);
	TYPE(value, __u64);
} connections SEC(".maps"); /* how many there were */

static void *(*map_lookup)(void *map, const void *key) = (void *)BPF_FUNC_map_lookup_elem;
static long (*map_update)(void *map, const void *key, const void *value, __u64 flags) =
	(void *)BPF_FUNC_map_update_elem;
static long (*map_delete)(void *map, const void *key) = (void *)BPF_FUNC_map_delete_elem;
static __u64 (*now_ns)(void) = (void *)BPF_FUNC_ktime_get_ns;
static void (*lock)(struct bpf_spin_lock *) = (void *)BPF_FUNC_spin_lock;
static void (*unlock)(struct bpf_spin_lock *) = (void *)BPF_FUNC_spin_unlock;

extern __u32 tcp_reno_ssthresh(struct sock *sk) KERNEL_FUNCTION;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) KERNEL_FUNCTION;
extern __u32 tcp_slow_start(struct tcp_sock *tp, __u32 acked) KERNEL_FUNCTION;
extern void tcp_cong_avoid_ai(struct tcp_sock *tp, __u32 w, __u32 acked) KERNEL_FUNCTION;

char LICENSE[] SEC("license") = "GPL";

INLINE struct mltcp_connection *connection_of(struct sock *sk)
{
	return (struct mltcp_connection *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

INLINE struct mltcp_job *parameters_of(struct sock *sk)
{
	__u64 key = connection_of(sk)->parameters_key;
	return map_lookup(&parameters, &key);
}

INLINE struct mltcp_iteration *iteration_of(struct sock *sk)
{
	__u64 key = connection_of(sk)->iteration_key;
	return map_lookup(&iterations, &key);
}

INLINE __u64 new_connection(void)
{
	__u32 first = 0;
	__u64 *count = map_lookup(&connections, &first);
	return OF_CONNECTION | (count ? __sync_fetch_and_add(count, 1) : 0);
}

SEC("struct_ops/mltcp_init")
void mltcp_init(unsigned long long *arguments)
{
	struct sock *sk = (void *)arguments[0];
	struct tcp_sock *tp = (void *)arguments[0];
	struct mltcp_connection *mine = connection_of(sk);
	struct mltcp_iteration none = {};
	__u64 job = sk->sk_mark, key = job;
	struct mltcp_job *given;

	if (!job)
		job = key = OF_NAMESPACE | sk->__sk_common.skc_net.net->ns.inum;
	given = map_lookup(&parameters, &key);
	if (!given) {
		key = 0;
		given = map_lookup(&parameters, &key);
	}
	mine->parameters_key = key;
	key = given && given->by_job ? job : new_connection();
	mine->iteration_key = key;
	mine->counted_bytes = tp->bytes_acked;
	mine->iteration = 0;
	mine->credit = 0;
	map_update(&iterations, &key, &none, BPF_NOEXIST);
}

SEC("struct_ops/mltcp_release")
void mltcp_release(unsigned long long *arguments)
{
	struct sock *sk = (void *)arguments[0];
	__u64 key = connection_of(sk)->iteration_key;

	if (key & OF_CONNECTION)
		map_delete(&iterations, &key);
}

/* Whether a gap that long lies between two iterations. Where it is not known how long a job computes, gaps within an
 * iteration are those shorter than half of the longest, and all that are so short that a busy machine may make them.
 * Called with the iteration locked.
 */
INLINE int is_between(const struct mltcp_job *given, struct mltcp_iteration *it, __u64 gap_ns, __u64 srtt_ns)
{
	int learned = it->learned >= LEARNED_FROM;

	if (given->compute_time_ns)
		return gap_ns * 10 > given->compute_time_ns * 9;
	if (gap_ns < SHORTEST_GAP_NS || gap_ns < 8 * srtt_ns)
		return 0;
	if (gap_ns > (learned ? 4 : 2) * it->longest_gap_ns) { /* those before were within an iteration */
		it->longest_gap_ns = gap_ns;
		it->compute_time_ns = ~0ULL;
		it->total_bytes = 0;
		it->learned = 0;
		it->number = 0;
		return 1;
	}
	if (learned)
		return gap_ns * 10 > it->compute_time_ns * 9;
	if (2 * gap_ns > it->longest_gap_ns) {
		it->longest_gap_ns = gap_ns > it->longest_gap_ns ? gap_ns : it->longest_gap_ns;
		return 1;
	}
	if (16 * gap_ns > it->longest_gap_ns) /* lest one long pause be the measure for ever */
		it->longest_gap_ns -= it->longest_gap_ns / 16;
	return 0;
}

/* One stall that joins two iterations, or parts one, is never the middle of three. */
INLINE __u64 middle(__u64 a, __u64 b, __u64 c)
{
	__u64 low = a < b ? a : b, high = a < b ? b : a;

	return c < low ? low : c > high ? high : c;
}

/* Called with the iteration locked, at the end of one. */
INLINE void learn(struct mltcp_iteration *it, __u64 gap_ns)
{
	if (it->learned >= LEARNED_FROM)
		return;
	if (it->number) { /* a whole one: its beginning was seen, too */
		it->learned++;
		it->seen_bytes[0] = it->seen_bytes[1];
		it->seen_bytes[1] = it->seen_bytes[2];
		it->seen_bytes[2] = it->bytes;
		if (it->learned == LEARNED_FROM)
			it->total_bytes = middle(it->seen_bytes[0], it->seen_bytes[1], it->seen_bytes[2]);
	}
	if (!it->compute_time_ns || gap_ns < it->compute_time_ns)
		it->compute_time_ns = gap_ns;
}

/* A connection sends that had nothing under way: maybe an iteration begins, and its window is made new then. */
SEC("struct_ops/mltcp_cwnd_event")
void mltcp_cwnd_event(unsigned long long *arguments)
{
	struct sock *sk = (void *)arguments[0];
	struct tcp_sock *tp = (void *)arguments[0];
	enum tcp_ca_event event = (enum tcp_ca_event)(__u32)arguments[1];
	struct mltcp_connection *mine = connection_of(sk);
	struct mltcp_job *given;
	struct mltcp_iteration *it;
	__u64 now, gap_ns, srtt_ns;
	__u32 number;

	if (event != CA_EVENT_TX_START || tp->packets_out) /* after a time-out packets are out */
		return;
	given = parameters_of(sk);
	it = iteration_of(sk);
	if (!given || !it)
		return;
	now = now_ns();
	srtt_ns = (tp->srtt_us >> 3) * 1000ULL;
	lock(&it->lock);
	gap_ns = now - it->last_ns;
	if (!it->last_ns) {
		it->number = 1;
		it->last_ns = now;
	} else if (now > it->last_ns && is_between(given, it, gap_ns, srtt_ns)) {
		learn(it, gap_ns);
		it->number++;
		it->bytes = 0;
		it->last_ns = now;
	}
	number = it->number;
	unlock(&it->lock);
	if (mine->iteration == number)
		return;
	if (mine->iteration)
		tp->snd_cwnd = NEW_WINDOW;
	mine->iteration = number;
	mine->credit = 0;
}

/* A kernel may pass over a program (seen on Linux 6.18, at about every thousandth loss), and then takes what happens to be
 * on its stack for the program's answer. What the answers of ssthresh and undo_cwnd were to be is known here: these are
 * Reno's.
 */
INLINE void repair(struct tcp_sock *tp)
{
	__u32 half = tp->prior_cwnd / 2;

	if (tp->snd_ssthresh > LARGEST_WINDOW && tp->snd_ssthresh != NO_THRESHOLD)
		tp->snd_ssthresh = half > 2 ? half : 2;
	if (tp->snd_cwnd > LARGEST_WINDOW)
		tp->snd_cwnd = tp->prior_cwnd > 2 ? tp->prior_cwnd : 2;
}

/* Called right after ssthresh and, mostly, after undo_cwnd, before either is used. */
SEC("struct_ops/mltcp_set_state")
void mltcp_set_state(unsigned long long *arguments)
{
	repair((void *)arguments[0]);
}

/* Packets were acknowledged. */
SEC("struct_ops/mltcp_pkts_acked")
void mltcp_pkts_acked(unsigned long long *arguments)
{
	struct sock *sk = (void *)arguments[0];
	struct tcp_sock *tp = (void *)arguments[0];
	struct mltcp_connection *mine = connection_of(sk);
	struct mltcp_iteration *it = iteration_of(sk);
	__u64 now, acked = tp->bytes_acked, more = acked - mine->counted_bytes;

	mine->counted_bytes = acked;
	repair(tp);
	if (!it)
		return;
	now = now_ns();
	lock(&it->lock);
	it->bytes += more;
	if (now > it->last_ns)
		it->last_ns = now;
	unlock(&it->lock);
}

/* F, in 1/ONE; 1 until the total is known. */
INLINE __u32 aggressiveness(struct sock *sk)
{
	struct mltcp_job *given = parameters_of(sk);
	struct mltcp_iteration *it = iteration_of(sk);
	__u64 total, ratio;
	__s64 value;

	if (!given || !it)
		return ONE;
	total = given->total_bytes;
	if (!total && it->learned >= LEARNED_FROM)
		total = it->total_bytes;
	if (!total)
		return ONE;
	ratio = it->bytes * ONE / total;
	if (ratio > ONE)
		ratio = ONE;
	value = given->intercept + (((__s64)given->slope * (__s64)ratio) >> 10);
	return value > 0 ? value : 0;
}

INLINE int is_window_limited(struct tcp_sock *tp)
{
	if (tp->is_cwnd_limited)
		return 1;
	return tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out;
}

SEC("struct_ops/mltcp_cong_avoid")
void mltcp_cong_avoid(unsigned long long *arguments)
{
	struct sock *sk = (void *)arguments[0];
	struct tcp_sock *tp = (void *)arguments[0];
	struct mltcp_connection *mine = connection_of(sk);
	__u32 acked = (__u32)arguments[2], credit;

	if (!is_window_limited(tp))
		return;
	if (tp->snd_cwnd < tp->snd_ssthresh) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	credit = mine->credit + aggressiveness(sk) * acked;
	mine->credit = credit % ONE;
	tcp_cong_avoid_ai(tp, tp->snd_cwnd, credit / ONE);
}

SEC("struct_ops/mltcp_ssthresh")
__u32 mltcp_ssthresh(unsigned long long *arguments)
{
	return tcp_reno_ssthresh((void *)arguments[0]);
}

SEC("struct_ops/mltcp_undo_cwnd")
__u32 mltcp_undo_cwnd(unsigned long long *arguments)
{
	return tcp_reno_undo_cwnd((void *)arguments[0]);
}

SEC(".struct_ops")
struct tcp_congestion_ops ALGORITHM = {
	.init = (void *)mltcp_init,
	.release = (void *)mltcp_release,
	.set_state = (void *)mltcp_set_state,
	.cwnd_event = (void *)mltcp_cwnd_event,
	.pkts_acked = (void *)mltcp_pkts_acked,
	.cong_avoid = (void *)mltcp_cong_avoid,
	.ssthresh = (void *)mltcp_ssthresh,
	.undo_cwnd = (void *)mltcp_undo_cwnd,
	.flags = NON_RESTRICTED,
	.name = TEXT(ALGORITHM),
};
