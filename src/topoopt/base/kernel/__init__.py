"""Shared parts of the kernels of several packages: compilation, event queues and waiting lines of devices."""

from topoopt.base.kernel.arithmetic import exp as exp
from topoopt.base.kernel.arithmetic import mix as mix
from topoopt.base.kernel.arithmetic import uniform as uniform
from topoopt.base.kernel.compilation import UNKEPT as UNKEPT
from topoopt.base.kernel.compilation import compiled as compiled
from topoopt.base.kernel.compilation import concurrent_entry as concurrent_entry
from topoopt.base.kernel.compilation import entry as entry
from topoopt.base.kernel.compilation import inlined as inlined
from topoopt.base.kernel.compilation import on_compilation as on_compilation
from topoopt.base.kernel.compilation import owning_entry as owning_entry
from topoopt.base.kernel.compilation import shared as shared
from topoopt.base.kernel.compilation import spliced as spliced
from topoopt.base.kernel.compilation import stamp as stamp
from topoopt.base.kernel.compilation import stamped as stamped
from topoopt.base.kernel.compilation import vectorized as vectorized
from topoopt.base.kernel.queues import drop_top as drop_top
from topoopt.base.kernel.queues import enqueue as enqueue
from topoopt.base.kernel.queues import push as push
