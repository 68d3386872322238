"""WHERE sessions are kept: working memory, toolbox, history, usage and open questions to the user.

A store keeps JSON and gives it back; what a message means, and who talks to whom, is not known here.
"""
