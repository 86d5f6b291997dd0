// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class UnreadAnswersTest {
  private static final long GRACE = UnreadAnswers.GRACE.toNanos();

  private static final long MAX_BYTES = 100;

  private long now;
  private final Counter counter = new SimpleMeterRegistry().counter("closed");
  private final UnreadAnswers answers = new UnreadAnswers(counter, MAX_BYTES, () -> now);
  private final List<String> closed = new ArrayList<>();

  /** An answer of a test. */
  private final class Unread implements UnreadAnswers.Answer {
    private final String name;
    private final long bytes;
    private long written;

    Unread(String name, long bytes) {
      this.name = name;
      this.bytes = bytes;
      answers.begin(this);
    }

    @Override
    public long bytes() {
      return bytes;
    }

    @Override
    public long written() {
      return written;
    }

    @Override
    public void close() {
      closed.add(name);
    }
  }

  @Test
  void begin_withinTheBytesOfAll_closesNone_howeverManyThereAre() {
    for (int i = 0; i < 1_000; i++) {
      new Unread("empty", 0);
    }
    new Unread("whole", MAX_BYTES);

    assertEquals(List.of(), closed);
    assertEquals(1_001, answers.size());
  }

  @Test
  void begin_aboveTheBytesOfAll_closesTheOneThatWouldTakeLongest() {
    Unread fast = new Unread("fast", 40);
    Unread slow = new Unread("slow", 40);
    now = GRACE;
    fast.written = 10;
    slow.written = 9;
    new Unread("next", 21);

    assertEquals(List.of("slow"), closed);
    assertEquals(1, counter.count());
    assertEquals(2, answers.size());
  }

  /** Of callers that are equally fast, those that are nearest to their end go on. */
  @Test
  void begin_equallyFast_closesTheOneThatHasMostLeft() {
    Unread old = new Unread("old", 40);
    now = GRACE;
    Unread young = new Unread("young", 40);
    now = 2 * GRACE;
    old.written = 20;
    young.written = 10;
    new Unread("next", 21);

    assertEquals(List.of("young"), closed);
  }

  @Test
  void begin_oneHadItsTime_closesThatBeforeAYoungerThatHasWrittenNothing() {
    Unread old = new Unread("old", 50);
    old.written = 1;
    now = GRACE;
    new Unread("young", 50);
    new Unread("next", 1);

    assertEquals(List.of("old"), closed);
  }

  @Test
  void begin_noneHadItsTime_closesAllTheSame() {
    new Unread("first", 60);
    new Unread("second", 60);
    assertEquals(List.of("first"), closed);

    new Unread("larger than all", MAX_BYTES + 1);
    assertEquals(List.of("first", "second"), closed);
    assertEquals(1, answers.size());
  }

  @Test
  void end_givesItsBytesBack() {
    Unread ended = new Unread("ended", 90);
    answers.end(ended);
    answers.end(ended);
    new Unread("next", 90);
    assertEquals(List.of(), closed);

    new Unread("another", 11);
    assertEquals(List.of("next"), closed);
  }
}
