"""The obvious, slow way to each result. Nothing here uses the library."""

from reference.branch_and_cut import *
from reference.categories import *
from reference.networks import *
from reference.non_gaussian import *
from reference.orders import *
from reference.pictures import *
from reference.posterior import *
from reference.pricing import *
from reference.regressions import *
from reference.scores import *
from reference.searches import *
from reference.targets import *
