// SPDX-License-Identifier: Apache-2.0
/**
 * Decides recorded calls again and compares the results with the records. The arithmetic of buckets
 * is written here a second time, from docs/decisions 0002, 0005 and 0016: nothing of the code that
 * decides may be used, except the reading and matching of policies.
 */
@NullMarked
package io.weir.cli.replay;

import org.jspecify.annotations.NullMarked;
