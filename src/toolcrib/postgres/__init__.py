"""HOW we speak to PostgreSQL: connections, transactions, and tables that are brought up to date.

What stands in the tables is known by those who use this: the stores, the shared catalog, the gateway's approvals.
"""
