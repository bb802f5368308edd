# SPDX-License-Identifier: Apache-2.0
"""Pages and tables for people, and their colours."""
