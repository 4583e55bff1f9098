"""So that every test of the studies finds `report_helpers`, which stands beside this file."""
