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

  private long now;
  private final Counter counter = new SimpleMeterRegistry().counter("closed");
  private final UnreadAnswers answers = new UnreadAnswers(counter, () -> now);
  private final List<Integer> closed = new ArrayList<>();

  @Test
  void begin_aboveTheBound_closesTheOldest() {
    List<Runnable> all = begin(UnreadAnswers.MAX);
    now = GRACE;
    begin(2);

    assertEquals(List.of(0, 1), closed);
    assertEquals(2, counter.count());
    answers.end(all.get(0)); // the close ends the writing, too
    begin(1);
    assertEquals(List.of(0, 1, 2), closed);
  }

  @Test
  void end_freesItsPlace() {
    List<Runnable> all = begin(UnreadAnswers.MAX);
    now = GRACE;
    answers.end(all.get(5));
    begin(1);
    assertEquals(List.of(), closed);

    begin(1);
    assertEquals(List.of(0), closed);
  }

  @Test
  void begin_aboveTheBoundButOldestWithinGrace_closesNone() {
    begin(UnreadAnswers.MAX);
    now = GRACE - 1;
    begin(1);

    assertEquals(List.of(), closed);
    assertEquals(UnreadAnswers.MAX + 1, answers.size());
  }

  @Test
  void begin_manyHadTheirTime_closesAllBeyondTheBound() {
    begin(UnreadAnswers.MAX + 3);
    now = GRACE;
    begin(1);

    assertEquals(List.of(0, 1, 2, 3), closed);
    assertEquals(UnreadAnswers.MAX, answers.size());
  }

  @Test
  void begin_aboveTheBytesOfAll_closesTheOldestWithinTheirTime_butKeepsAsManyAsTheBound() {
    begin(UnreadAnswers.MAX + 1);
    answers.begin(() -> closed.add(100), UnreadAnswers.MAX_BYTES);
    assertEquals(List.of(0, 1), closed);

    answers.begin(() -> closed.add(101), 0);
    assertEquals(List.of(0, 1, 2), closed);
  }

  private List<Runnable> begin(int count) {
    List<Runnable> begun = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      int number = i;
      Runnable close = () -> closed.add(number);
      begun.add(close);
      answers.begin(close, 1);
    }
    return begun;
  }
}
