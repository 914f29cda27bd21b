"""scikit-learn estimators: validation and fitted attributes, nothing else."""
