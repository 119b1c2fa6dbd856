"""Judge drift: detectors of changed judges, by anchors that they score again and again."""
