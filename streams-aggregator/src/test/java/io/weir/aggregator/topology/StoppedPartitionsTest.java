// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.topics.catalog.Topics;
import java.util.List;
import java.util.Set;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.Test;

/** When a stopped partition resumes. */
final class StoppedPartitionsTest {
  private static final TopicPartition CALLS = new TopicPartition(Topics.CALLS.name(), 3);

  private final StoppedPartitions stopped = new StoppedPartitions(Set.of());

  @Test
  void partitionReturningWhereItStopped_staysStopped() {
    stopAt(8812, false);

    stopped.resumeIfPassed(3, 8812);

    assertEquals(8812L, stopped.withheldFrom(CALLS));
    assertEquals(1, stopped.all().size());
  }

  @Test
  void partitionCountedPastItsStopElsewhere_resumes() {
    stopAt(8812, false);

    stopped.resumeIfPassed(3, 8813);

    assertNull(stopped.withheldFrom(CALLS));
    assertEquals(List.of(), stopped.all());
  }

  @Test
  void partitionFailedBetweenRecords_countedElsewhereSince_isNoLongerIdle() {
    stopAt(8812, true);
    assertTrue(stopped.isIdle(3));

    stopped.resumeIfPassed(3, 9000);

    assertFalse(stopped.isIdle(3));
  }

  @Test
  void otherPartitions_areNotConcerned() {
    stopAt(8812, false);

    stopped.resumeIfPassed(2, 9000);

    assertEquals(8812L, stopped.withheldFrom(CALLS));
    assertNull(stopped.withheldFrom(new TopicPartition(Topics.CALLS.name(), 2)));
    assertNull(stopped.withheldFrom(new TopicPartition(Topics.STATE.name(), 3)));
  }

  private void stopAt(long offset, boolean betweenRecords) {
    IllegalStateException failure = new IllegalStateException("a record made the counting fail");
    var unused =
        stopped.stop(
            new StoppedPartitions.Stop(
                new RecordPlace(3, offset), betweenRecords, failure.toString()),
            failure);
  }
}
