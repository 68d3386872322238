"""Tasks for evals of whole agents: on the reference CMS and on the modules of apps."""
