# SPDX-License-Identifier: Apache-2.0
"""Plans of PyIceberg through `zonemap serve`, through a server without an index, and by PyIceberg itself."""
