// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.topics.kafka.KafkaConnection;
import java.time.Duration;

/**
 * The settings of the deployment that reports depend on.
 *
 * @param kafka how to reach Kafka, for reading the audit log
 * @param partitions number of partitions of every topic
 * @param window size of a ledger window
 * @param lateness how late a call may be
 * @param positionWait how long a request waits for a position
 * @param rankedWindows how many windows are ranked, the running one included; 0 if none are
 */
public record ReportSettings(
    KafkaConnection kafka,
    int partitions,
    Duration window,
    Duration lateness,
    Duration positionWait,
    int rankedWindows) {}
