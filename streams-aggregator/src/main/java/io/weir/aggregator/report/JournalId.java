// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

/**
 * The identity of one journal epoch of an ingest node.
 *
 * @param node the node's name
 * @param epoch time at which the journal was opened, in milliseconds since 1970
 */
record JournalId(String node, long epoch) {}
