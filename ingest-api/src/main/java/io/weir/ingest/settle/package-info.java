// SPDX-License-Identifier: Apache-2.0
/**
 * Settles calls: finds a call in the calls topic, records its actual cost, and waits for the
 * aggregator's verdict. Depends on the module {@code topics}, the call log's interface in the
 * package {@code gate}, the Kafka clients and SLF4J.
 */
@NullMarked
package io.weir.ingest.settle;

import org.jspecify.annotations.NullMarked;
