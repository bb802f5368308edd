# SPDX-License-Identifier: Apache-2.0
"""Why a query reads its files, what would make it read fewer, and whether the installation is complete."""
