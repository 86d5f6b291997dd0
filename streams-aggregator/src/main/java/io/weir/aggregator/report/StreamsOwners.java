// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.aggregator.report.UsageTable.Owner;
import io.weir.topics.catalog.Topic;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsMetadata;
import org.apache.kafka.streams.errors.StreamsNotStartedException;
import org.apache.kafka.streams.state.HostInfo;

/** Which aggregator a Streams application has given a partition to. Stateless. */
final class StreamsOwners {
  private StreamsOwners() {}

  /** Who reads a partition of one of the application's topics. */
  static Owner owner(KafkaStreams application, HostInfo self, Topic topic, int partition) {
    TopicPartition wanted = new TopicPartition(topic.name(), partition);
    try {
      for (StreamsMetadata client : application.metadataForAllStreamsClients()) {
        if (client.topicPartitions().contains(wanted)) {
          return client.hostInfo().equals(self)
              ? new Owner.Local()
              : new Owner.Remote(client.host(), client.port());
        }
      }
    } catch (StreamsNotStartedException starting) {
      return new Owner.Nobody();
    } catch (IllegalStateException stopped) {
      return new Owner.Nobody();
    }
    return new Owner.Nobody();
  }

  static ProblemException unavailable(int partition, Exception why) {
    return new ProblemException(
        Problem.partitionUnavailable(
            partition, "its table is being moved or restored (" + why.getMessage() + ")"));
  }
}
