"""The words of ``docs/simulators.md`` around its tables."""

PAGE = """\
# Our simulators beside the authors'

*Written by `make reference`. Do not edit: change `benchmarks/reference_text.py` or what it measures.*

The authors of TopoOpt have two simulators: FlexNet searches strategies with a fluid network model, FlexNetPacket
plays the result packet by packet. All that we know of their outputs stands in `benchmarks/data/` with its source, and
is compared here with ours, row by row. Latency is 1 µs a hop throughout. All columns but `CPU s` are the same
whenever this page is made, and tests make them again. CPU seconds are of one core of the machine that
wrote the page, without compilation and reading of files.

**off** is ours over theirs minus one. **allowed** is a limit set beforehand, in the digits given. Its rules stand in
`benchmarks/data/flexnetpacket.csv`: they come from how the original varies from run to run and, for rows with †, from
what a network without faulty timeouts falls short. **ok** compares the two.

## To the picosecond

What has a closed form: one flow over hops, flows that share one link, an incast, AllReduce over rings.

{micro}

## Packets

The authors' task graphs (`examples/taskgraphs/README.md`) with DCTCP. *fabric* is one *ideal-switch* or a 4-ary
*fat-tree* with every switch, a server having one link of the bandwidth given, or the file's *own* connections, routes
and rings. On a fat-tree each connection draws its way up; there the time is the mean of seeds 0 to 2, because single
draws differ by about 0.2 %. `compat` (`--compat flexnetpacket`) takes over the shortcuts of FlexNetPacket:

- small AllReduces are cut to one round;
- the time of a byte on the wire is cut to whole picoseconds;
- compute times are rounded as 32-bit floats.

*without* is our own packet simulator, which does none of that: its small AllReduces run all their rounds, so it comes
out a little higher nearly everywhere.

{packet}

### The rows with †

FlexNetPacket has a retransmission timer that first fires after 1 or 10 ms, and in these rows it fires thousands of
times although no packet is lost: what waits behind a deep queue is taken for lost. Ours has no such fault, so it comes
out lower, by the margins shown. The queues in the servers' own interfaces (unbounded and unmarked in this model) are
deep enough for it: at 10 Gb/s they hold up to 36 MB (29 ms of sending) with VGG and 24 MB (19 ms) with DLRM, at 40
Gb/s 65 MB (13 ms) and 21 MB (4 ms). At 100 Gb/s and more no row has the mark.

`40vgg_16` on the ideal switch is a case of its own. The original needs 508.76 ms, timeouts included, and fair shares
would need 460.57; ours needs 507.65 without a single timeout. So the loss is not the timer's. What happens, from the
flow table and the queue statistics of our run:

- At 56.7 ms eight servers begin to send 63 MB of gradients of activations to a neighbor, whose backward pass waits for
  them, and begin an AllReduce of 1.0 GB among each other: 14 rounds, 127 MB a connection.
- On the ideal switch each connection of that ring has the output port of its receiver to itself. None of its packets
  is marked, so in every round its window grows through slow start to 7,200 packets, and the interface of the sender
  holds 64.6 MB, which is 12.9 ms.
- The transfer shares its output port with another AllReduce for the first 25 ms. Of its 7,100 packets 1,499 are marked,
  so its window shrinks to a few packets, and then grows by one a round trip: of 12.9 ms, behind the queue of the ring.
- It ends at 440.9 ms, when the AllReduce does, in place of 84.6 ms with fair shares. The rest of the backward pass
  begins that late, and its AllReduces end the iteration.

On the fat-tree other connections cross the way of the ring and its packets are marked, too (115,658 with seed 0): the
transfer ends at about 100 ms, and the iteration takes 466 ms. The lesson is about the model and about hosts: a
queue before the first switch that nobody marks lets one connection starve its neighbors.

## Fair flows

The flow simulator on the same rows: max-min fair rates, rings in the rounds of `compat`, on fat-trees one drawn path a
connection (mean of the same seeds).

{flow}

Over all rows of a model, without sign (`taskgraph12` is DLRM):

{classes}

A plain max-min model was measured against FlexNetPacket before, over 88 runs, median / 90 % / worst: AllReduce only
0.04–0.14 / 2 / 2.7 %, DLRM 0.6 / 5.6 / 5.7 %, CANDLE 6.6 / 10.6 / 14.6 %. Its worst cases are the limits here.

On `25dlrm_128_circ_d4_rings` fair shares differ in a way that the sum hides. A transfer of 0.5 MB is 59 packets and
fits into the first window of 100, so nothing regulates it and every link serves first come, first served. Transfers
over one hop then take 0.07 ms on average in place of 2.1 ms with fair shares, those over nine hops 6.1 in place of
9.3 ms, and the last of all ends at 42.7 ms in place of 47.8 ms.

## FlexNet's fluid model

Data-parallel jobs from our model zoo with the published profiles, rings as one flow (`--collective bulk`).

{fluid}

## Noise

What begins at the same time has to be served in some order, and the order is arbitrary. Ten seeds (0 to 9) put the
tasks in different orders and, on a fat-tree, draw other ways up. The original's own noise on CANDLE is 5 to 11 % from
start order alone, and each of its figures is one draw. *fastest*, *median* and *slowest* are in ms; how far they are
from the original's stands in brackets. `width` is the slowest over the fastest.

{noise}

DLRM at 800 Gb/s has two outcomes, 1.3 ms apart, by which of two compute tasks a server takes first. The original's
figure is the slower one; seed 0, in the table of packets, is the faster.
"""
