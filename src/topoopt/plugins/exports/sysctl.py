"""What a Linux server's kernel is set to, so that it hands on what is for others and shares it among next hops."""

from topoopt.plugins.exports.server_network import ServerNetwork


def kernel_settings(network: ServerNetwork) -> dict[str, int]:
    """Return the settings by name.

    Packets come back by other ways than they went, so that reverse path filtering is off: of all interfaces and of
    each, for the stricter of the two holds. Connections are told apart by their ports, too, when they are hashed over
    next hops. Nobody is told of shorter ways, as where a fiber comes in and another goes out on one interface.
    """
    interfaces = ("all", "default", *(one.name for one in network.interfaces))
    return {
        "net.ipv4.ip_forward": 1,
        "net.ipv4.fib_multipath_hash_policy": 1,
        "net.ipv4.conf.all.send_redirects": 0,
        "net.ipv4.conf.default.send_redirects": 0,
        **{f"net.ipv4.conf.{_escaped(name)}.rp_filter": 0 for name in interfaces},
    }


def sysctl_file(network: ServerNetwork) -> str:
    """Return the settings as a file of /etc/sysctl.d."""
    return "".join(f"{name} = {value}\n" for name, value in kernel_settings(network).items())


def _escaped(name: str) -> str:
    """Return an interface's name as a part of a setting's, where a dot in it is a slash."""
    return name.replace(".", "/")
