"""placeholder"""

NETWORK_KERNELS = ()


class NetworkSums: ...


def network_sums(*a):
    raise NotImplementedError


def network_work(n):
    return 3**n
