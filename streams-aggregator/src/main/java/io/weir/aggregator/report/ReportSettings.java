// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.topics.kafka.KafkaConnection;
import java.time.Duration;

/**
 * The settings of the reports.
 *
 * @param kafka connection to Kafka, which is used to read the audit log
 * @param partitions number of partitions of each topic
 * @param window length of a ledger window
 * @param lateness maximum lateness of a call
 * @param positionWait maximum time that a report waits for a position
 * @param rankedWindows number of ranked windows, including the current window; 0 disables rankings
 */
public record ReportSettings(
    KafkaConnection kafka,
    int partitions,
    Duration window,
    Duration lateness,
    Duration positionWait,
    int rankedWindows) {}
