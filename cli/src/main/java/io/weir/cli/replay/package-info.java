// SPDX-License-Identifier: Apache-2.0
/**
 * Decides recorded calls again and compares the results with the records. This package implements
 * the arithmetic of buckets a second time, from docs/decisions 0002, 0005 and 0016. From the check
 * API, this package uses only the reading and matching of policies.
 */
@NullMarked
package io.weir.cli.replay;

import org.jspecify.annotations.NullMarked;
