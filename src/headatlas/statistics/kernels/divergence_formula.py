"""A divergence without differences of large numbers, for float32: every term is right to six digits, none negative.

With m = (p + q)/2 and u = (p - q) / (p + q), a term of the Jensen-Shannon divergence is m g(u), with
g = ((1 + u) log(1 + u) + (1 - u) log(1 - u)) / 2. g / u^2 is a smooth function of w = sqrt(p q) / m = sqrt(1 - u^2),
approximated by N(w) / D(w), off by 4e-7. Highest power first.
"""

NUMERATOR = (13.4634959, 1283.27939, 631.204081, 56.6380233, 0.693147432)
DENOMINATOR = (938.354115, 2034.88435, 914.606004, 81.7132122, 1.0)
