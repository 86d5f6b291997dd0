// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class UnreadAnswersTest {
  private static final long MAX_BYTES = 100;

  private final Counter counter = new SimpleMeterRegistry().counter("closed");
  private final UnreadAnswers answers = new UnreadAnswers(counter, MAX_BYTES);
  private final List<String> closed = new ArrayList<>();

  /** An answer of a test. */
  private final class Unread implements UnreadAnswers.Answer {
    private final String name;
    private final long bytes;
    private long progressNanos;

    Unread(String name, long bytes, long progressNanos) {
      this.name = name;
      this.bytes = bytes;
      this.progressNanos = progressNanos;
      answers.begin(this);
    }

    @Override
    public long bytes() {
      return bytes;
    }

    @Override
    public long progressNanos() {
      return progressNanos;
    }

    @Override
    public void close() {
      closed.add(name);
    }
  }

  @Test
  void begin_withinTheBytesOfAll_closesNone_howeverManyThereAre() {
    for (int i = 0; i < 1_000; i++) {
      new Unread("empty", 0, i);
    }
    new Unread("whole", MAX_BYTES, 1_000);

    assertEquals(List.of(), closed);
    assertEquals(1_001, answers.size());
  }

  @Test
  void begin_aboveTheBytesOfAll_closesTheOneThatWasNotReadForLongest() {
    Unread read = new Unread("read", 40, 1);
    new Unread("not read", 40, 2);
    read.progressNanos = 3;
    new Unread("next", 21, 4);

    assertEquals(List.of("not read"), closed);
    assertEquals(1, counter.count());
    assertEquals(2, answers.size());
  }

  /** The clock of the JVM may begin anywhere. */
  @Test
  void begin_clockPassesItsGreatestNumber_closesTheOldest() {
    new Unread("old", 60, Long.MAX_VALUE);
    new Unread("young", 60, Long.MIN_VALUE);

    assertEquals(List.of("old"), closed);
  }

  @Test
  void begin_largerThanAll_closesTheOthersAndStays() {
    new Unread("first", 60, 1);
    new Unread("larger than all", MAX_BYTES + 1, 2);

    assertEquals(List.of("first"), closed);
    assertEquals(1, answers.size());
  }

  @Test
  void end_givesItsBytesBack() {
    Unread ended = new Unread("ended", 90, 1);
    answers.end(ended);
    answers.end(ended);
    new Unread("next", 90, 2);
    assertEquals(List.of(), closed);

    new Unread("another", 11, 3);
    assertEquals(List.of("next"), closed);
  }
}
