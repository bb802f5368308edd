# SPDX-License-Identifier: Apache-2.0
"""``make demo-serve``: PyIceberg and Spark without the zonemap jar ask ``zonemap serve`` for the files of a scan."""
