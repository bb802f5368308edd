# SPDX-License-Identifier: Apache-2.0
"""The demo behind ``make demo``: a lake of real flights, and the same queries with the index off and on."""
