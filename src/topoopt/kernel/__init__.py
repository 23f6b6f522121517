"""What the kernels of several rooms are made of: how they are compiled, what happens next, who waits for a device."""

from topoopt.kernel.compilation import on_compilation as on_compilation
from topoopt.kernel.compiled import compiled as compiled
from topoopt.kernel.compiled import concurrent_entry as concurrent_entry
from topoopt.kernel.compiled import entry as entry
from topoopt.kernel.compiled import inlined as inlined
from topoopt.kernel.compiled import shared as shared
from topoopt.kernel.compiled import spliced as spliced
from topoopt.kernel.compiled import vectorized as vectorized
from topoopt.kernel.mix import mix as mix
from topoopt.kernel.queues import drop_top as drop_top
from topoopt.kernel.queues import enqueue as enqueue
from topoopt.kernel.queues import push as push
from topoopt.kernel.stamp import stamp as stamp
from topoopt.kernel.stamp import stamped as stamped
