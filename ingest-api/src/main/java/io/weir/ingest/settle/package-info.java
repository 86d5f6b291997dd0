// SPDX-License-Identifier: Apache-2.0
/**
 * Settles calls: finds a call in the audit log, records its actual cost, and waits for the
 * aggregator's verdict. Depends on the topics, the gate's port of the call log, the Kafka clients
 * and a logger.
 */
@NullMarked
package io.weir.ingest.settle;

import org.jspecify.annotations.NullMarked;
