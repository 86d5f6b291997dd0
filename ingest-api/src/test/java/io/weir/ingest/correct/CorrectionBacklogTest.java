// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.limits.BucketKey;
import io.weir.limits.correction.BoundedCorrection;
import io.weir.limits.correction.Correction;
import io.weir.topics.model.CacheRestored;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Which corrections are superseded, and in which order the others are applied. */
final class CorrectionBacklogTest {
  private static final CacheRestored RESTORED = new CacheRestored("g", 0, 2, 1, 5);

  private final CorrectionBacklog backlog = new CorrectionBacklog();

  @Test
  void add_severalOfOneBucket_newestTakesThePlaceOfTheOldest() {
    assertFalse(backlog.add(TestCorrections.correction(0, 0, "a", 1)));
    assertFalse(backlog.add(TestCorrections.correction(0, 1, "b", 7)));
    assertTrue(backlog.add(TestCorrections.correction(0, 2, "a", 3)));
    assertTrue(backlog.add(TestCorrections.correction(0, 3, "a", 2)));

    assertEquals(List.of("a3", "b7"), names(backlog.nextCorrections(10)));
  }

  @Test
  void add_greaterEpoch_winsOverGreaterVersion() {
    backlog.add(correction(2, 1));
    assertTrue(backlog.add(correction(1, 9)));

    assertEquals(2, backlog.nextCorrections(10).get(0).correction().epoch());
    assertTrue(backlog.add(correction(3, 1)));
    assertEquals(3, backlog.nextCorrections(10).get(0).correction().epoch());
  }

  @Test
  void restoredMessage_comesAfterEarlierCorrections_andBeforeNewerOnes() {
    backlog.add(TestCorrections.correction(0, 0, "a", 1));
    backlog.add(new CorrectionBacklog.RestoredMessage(0, 1, RESTORED));
    assertFalse(backlog.add(TestCorrections.correction(0, 2, "a", 2)));

    assertNull(backlog.nextRestored());
    assertEquals(List.of("a1"), names(backlog.nextCorrections(10)));
    backlog.answered(1);
    assertEquals(List.of(), backlog.nextCorrections(10));
    assertNotNull(backlog.nextRestored());
    backlog.answered(1);
    assertNull(backlog.nextRestored());
    assertEquals(List.of("a2"), names(backlog.nextCorrections(10)));
    backlog.answered(1);
    assertTrue(backlog.isEmpty());
  }

  @Test
  void nextCorrections_moreThanMax_returnsTheFirst() {
    for (int i = 0; i < 5; i++) {
      backlog.add(TestCorrections.correction(0, i, "c" + i, 1));
    }

    assertEquals(List.of("c01", "c11"), names(backlog.nextCorrections(2)));
    backlog.answered(2);
    assertEquals(List.of("c21", "c31", "c41"), names(backlog.nextCorrections(5)));
  }

  @Test
  void answeredTo_recordsWaiting_isTheOldestOfThem() {
    backlog.add(TestCorrections.correction(0, 10, "a", 1));
    backlog.add(TestCorrections.correction(1, 70, "x", 1));
    backlog.add(TestCorrections.correction(0, 11, "b", 1));
    backlog.add(TestCorrections.correction(0, 12, "a", 2));

    assertEquals(10, backlog.answeredTo(0, 13));
    backlog.answered(1);
    assertEquals(11, backlog.answeredTo(0, 13));
    assertEquals(70, backlog.answeredTo(1, 71));
    backlog.answered(2);
    assertEquals(13, backlog.answeredTo(0, 13));
    assertEquals(71, backlog.answeredTo(1, 71));
  }

  @Test
  void giveUp_partition_leavesTheOthers() {
    backlog.add(TestCorrections.correction(0, 10, "a", 1));
    backlog.add(TestCorrections.correction(1, 70, "x", 1));
    backlog.add(new CorrectionBacklog.RestoredMessage(1, 71, RESTORED));

    assertEquals(2, backlog.giveUp(List.of(1)));
    assertEquals(List.of("a1"), names(backlog.nextCorrections(10)));
    assertEquals(1, backlog.giveUpAll());
    assertTrue(backlog.isEmpty());
  }

  @Test
  void answered_onlySome_theOthersAreDeferred_andKeepTheirPlace() {
    for (int i = 0; i < 4; i++) {
      backlog.add(TestCorrections.correction(0, i, "c" + i, 1));
    }
    backlog.answered(3, place -> place == 1);
    assertEquals(List.of("c31"), names(backlog.nextCorrections(10)));
    assertFalse(backlog.mayGrow());
    backlog.answered(1);
    assertTrue(backlog.mayGrow());
    assertFalse(backlog.isEmpty());
    assertEquals(0, backlog.answeredTo(0, 4), "nothing is committed past them");

    assertTrue(backlog.add(TestCorrections.correction(0, 4, "c0", 2)));
    backlog.add(new CorrectionBacklog.RestoredMessage(0, 5, RESTORED));
    backlog.add(TestCorrections.correction(0, 6, "c9", 1));
    assertNull(backlog.nextRestored(), "corrections before it wait");
    assertEquals(List.of("c91"), names(backlog.nextCorrections(10)), "and those behind it do not");
    backlog.answered(1);
    assertTrue(backlog.mayGrow());
    assertNull(backlog.nextRestored());

    backlog.takeUpDeferred();
    assertNull(backlog.nextRestored());
    assertEquals(List.of("c02", "c21"), names(backlog.nextCorrections(10)));
    backlog.answered(2);
    assertNotNull(backlog.nextRestored());
    backlog.answered(1, place -> false);
    assertTrue(backlog.isIdle());
    assertNull(backlog.nextRestored(), "deferred itself");
    backlog.takeUpDeferred();
    assertNotNull(backlog.nextRestored());
    backlog.answered(1);
    assertTrue(backlog.isEmpty());
  }

  @Test
  void giveUp_deferred_isForgotten() {
    backlog.add(TestCorrections.correction(0, 10, "a", 1));
    backlog.add(TestCorrections.correction(1, 70, "x", 1));
    backlog.answered(2, place -> false);

    assertEquals(1, backlog.giveUp(List.of(1)));
    assertTrue(backlog.hasDeferred());
    assertEquals(1, backlog.giveUpAll());
    assertFalse(backlog.hasDeferred());
    assertTrue(backlog.mayGrow());
  }

  /** Whatever comes in whatever order, the last state a cache is given is that of the newest. */
  @Test
  void backlog_randomRecords_endInTheNewestOfEachBucket() {
    for (long seed = 0; seed < 300; seed++) {
      Random random = new Random(seed);
      CorrectionBacklog each = new CorrectionBacklog();
      Map<String, Long> newest = new HashMap<>();
      Map<String, Long> applied = new HashMap<>();
      int added = 0;
      int superseded = 0;
      int answered = 0;
      for (int i = 0; i < 200; i++) {
        String client = "c" + random.nextInt(8);
        long version = 1L + random.nextInt(50);
        if (random.nextInt(20) == 0) {
          each.add(new CorrectionBacklog.RestoredMessage(0, i, RESTORED));
        } else {
          superseded += each.add(TestCorrections.correction(0, i, client, version)) ? 1 : 0;
          newest.merge(TestCorrections.bucket(client), version, Math::max);
        }
        added++;
        if (random.nextInt(10) == 0) {
          answered += drain(each, random, applied);
        }
      }
      while (!each.isEmpty()) {
        answered += drain(each, random, applied);
      }

      assertEquals(newest, applied, "seed " + seed);
      assertEquals(added, superseded + answered, "seed " + seed);
      assertEquals(200, each.answeredTo(0, 200), "seed " + seed);
    }
  }

  private static int drain(CorrectionBacklog backlog, Random random, Map<String, Long> applied) {
    if (backlog.nextRestored() != null) {
      backlog.answered(1);
      return 1;
    }
    List<BoundedCorrection> corrections = backlog.nextCorrections(1 + random.nextInt(6));
    if (corrections.isEmpty()) {
      backlog.takeUpDeferred();
      return 0;
    }
    boolean[] isAnswered = new boolean[corrections.size()];
    int answered = 0;
    for (int i = 0; i < isAnswered.length; i++) {
      Correction correction = corrections.get(i).correction();
      isAnswered[i] = random.nextInt(4) > 0;
      if (isAnswered[i]) {
        applied.merge(correction.bucket(), correction.version(), Math::max);
        answered++;
      }
    }
    backlog.answered(isAnswered.length, place -> isAnswered[place]);
    return answered;
  }

  private static CorrectionBacklog.WaitingCorrection correction(long epoch, long version) {
    Correction correction = TestCorrections.correction("e", epoch, version);
    return new CorrectionBacklog.WaitingCorrection(0, 0, new BoundedCorrection(correction, 1));
  }

  private static List<String> names(List<BoundedCorrection> corrections) {
    List<String> names = new ArrayList<>();
    for (BoundedCorrection correction : corrections) {
      String bucket = correction.correction().bucket();
      String client = BucketKey.parse(bucket).client().shown();
      names.add(client + correction.correction().version());
    }
    return names;
  }
}
