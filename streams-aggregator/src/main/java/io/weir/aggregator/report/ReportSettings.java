// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.topics.kafka.KafkaConnection;
import java.time.Duration;

/**
 * The settings of the reports.
 *
 * @param kafka connection to Kafka, for reading the audit log
 * @param partitions number of partitions of every topic
 * @param window size of a ledger window
 * @param lateness maximum lateness of a call
 * @param positionWait maximum wait for a position
 * @param rankedWindows number of ranked windows, including the current one; 0 for none
 */
public record ReportSettings(
    KafkaConnection kafka,
    int partitions,
    Duration window,
    Duration lateness,
    Duration positionWait,
    int rankedWindows) {}
