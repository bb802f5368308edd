# SPDX-License-Identifier: Apache-2.0
"""Random tables and queries, with the product on and off in one session. The oracle uses no code of the product."""
