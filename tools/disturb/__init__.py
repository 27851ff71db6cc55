"""The parts of the campaign: what is disturbed, how, and what is looked at afterwards."""
