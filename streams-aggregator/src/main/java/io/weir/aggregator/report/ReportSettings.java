// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import java.time.Duration;

/**
 * What the reports need to know of the deployment.
 *
 * @param bootstrapServers the Kafka brokers, for reading the audit log
 * @param partitions partitions of every topic
 * @param window size of a ledger window
 * @param lateness how late a call may be
 * @param positionWait how long a request waits for a position
 */
public record ReportSettings(
    String bootstrapServers,
    int partitions,
    Duration window,
    Duration lateness,
    Duration positionWait) {}
