# SPDX-License-Identifier: Apache-2.0
"""What every part uses: errors, checks of arguments, names of tables, texts that are safe to show."""
