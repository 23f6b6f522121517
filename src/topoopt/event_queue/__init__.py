"""Queues of the simulators' kernels: what happens next, and who waits for a device."""

from topoopt.event_queue.kernel import drop_top as drop_top
from topoopt.event_queue.kernel import enqueue as enqueue
from topoopt.event_queue.kernel import push as push
