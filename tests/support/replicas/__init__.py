"""Server processes that can be killed, the balancer before them and the customers who talk with them."""
