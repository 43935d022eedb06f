from hypothesis import given, settings
from odd_tables import OPTIONS, odd_tables, outcome


@settings(max_examples=10 * settings().max_examples)
@given(odd_tables(), OPTIONS)
def test_any_table_ends_in_a_network_or_in_a_documented_error(table, options):
    documented = {"ValueError", "TypeError", "InvalidParameterError", "DegenerateColumnsError"}
    assert outcome(table, options) in {"fitted", *documented}
