// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

/**
 * The identity of one journal of an ingest node.
 *
 * @param node the node's name
 * @param epoch when the journal was created, in epoch milliseconds
 */
record JournalId(String node, long epoch) {}
