"""Post-processing of a bundle, one mathematical object a file. Nothing here meets a patient."""
