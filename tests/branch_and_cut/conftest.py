import pytest

from skbn._branch_and_cut.branch_and_cut import BRANCH_AND_CUT_KERNELS
from skbn._core.compile import compile_kernels


@pytest.fixture(autouse=True, scope="session")
def _compiled():
    compile_kernels(BRANCH_AND_CUT_KERNELS)
