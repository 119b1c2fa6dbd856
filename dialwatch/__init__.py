"""The roof: command line, one-process mode, demo. Wires collector, evaluator and monitor; decides nothing."""
