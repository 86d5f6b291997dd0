// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.weir.ingest.policy.log.PolicyEditor.Outcome;
import io.weir.ingest.policy.log.PolicyEditor.Reason;
import io.weir.ingest.policy.log.PolicyFollower.Source;
import io.weir.testing.Await;
import io.weir.testing.FullSuite;
import io.weir.topics.catalog.Topics;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Nodes with a policy file, and nodes whose topics are lost, with a real broker. */
final class LostPoliciesIT extends PolicyLogFixture {
  /** A node without a policy file of the fleet once replaced all published policies by its file. */
  @Test
  void namedFile_isPublishedOnlyIfNothingIsPublished() throws Exception {
    AppliedFile first = file("first", 2);
    PolicyFollower one = follower("one", first);
    assertEquals(Set.of("first-0", "first-1"), names(one));
    change(PolicyEdits.put(PolicyKey.ofPolicy("later"), bucket("later", 5), 0));
    Set<String> published = Set.of("first-0", "first-1", "later");

    restart("one", first);
    assertEquals(published, names(last()), "the same file again");
    restart("one", file("second", 1));
    assertEquals(published, names(last()), "another file");
    follower("new", file("third", 1));
    assertEquals(published, names(last()), "a node without a data folder");
    assertEquals(2, read().version());
    assertNull(last().problem());
    assertFalse(change(PolicyEdits.publishFirst(file("fourth", 1))).isChange());
  }

  /** A record of a newer release is something that is published. */
  @Test
  void namedFile_whereARecordCannotBeRead_isNotPublished() throws Exception {
    write(entry("a", 1, 1, bucket("a", 5).put("from_the_future", true)));
    assertFalse(change(PolicyEdits.publishFirst(file("first", 1))).isChange());
    try (PolicyLogReader reader = read("later")) {
      assertTrue(String.valueOf(reader.refusal()).contains("from_the_future"));
    }
  }

  @Test
  @Tag(STOPS_KAFKA)
  void kafkaUnavailable_firstStart_usesTheFile() throws Exception {
    kafka.stop();
    AppliedFile file = file("first", 2);
    PolicyFollower follower = follower("one", file);
    assertEquals(Source.FILE, follower.inForce().source());
    assertEquals(0, follower.set().version());
    assertEquals(Set.of("first-0", "first-1"), names(follower));

    kafka.restart();
    assertTrue(follower.awaitVersion(1, TIMEOUT));
    assertEquals(Source.LOG, follower.inForce().source());
    assertEquals(Set.of("first-0", "first-1"), names(follower));
  }

  @Test
  @FullSuite(
      reason =
          "a node waits for 15 s; kafkaUnavailable_firstStart_usesTheFile, which always runs, has a file")
  void nothingPublished_andNoFile_doesNotStart() {
    PolicyFollower.NoPoliciesException none =
        assertThrows(PolicyFollower.NoPoliciesException.class, () -> follower("one", null));
    assertTrue(String.valueOf(none.getMessage()).contains("weir policies apply"));
  }

  @Test
  void topicsMissing_isSaid_andTheFileDecides() throws Exception {
    deleteTopics(List.of(Topics.POLICIES.name(), Topics.CLIENTS.name()));
    PolicyFollower follower = follower("one", file("first", 1));
    assertEquals(Source.FILE, follower.inForce().source());
    assertTrue(String.valueOf(follower.problem()).contains("weir topics create"));

    createTopics();
    assertTrue(follower.awaitVersion(1, TIMEOUT));
  }

  /** Published policies must stay in force even if the topics are deleted. */
  @Test
  void topicsDeletedAndCreated_theNodeKeepsItsPolicies_untilSomethingIsPublished()
      throws Exception {
    first(bucket("a", 5));
    change(PolicyEdits.put(PolicyKey.ofPolicy("a"), bucket("a", 6), 1));
    follower("one", null);
    deleteTopics(List.of(Topics.POLICIES.name(), Topics.CLIENTS.name()));
    createTopics();
    restart("one", null);
    assertEquals(Set.of("a"), names(last()));
    assertEquals(2, last().set().version());

    first(bucket("b", 5));
    Await.until("the new log is in force", () -> names(last()).equals(Set.of("b")));
  }

  /** Regression: until its later limit was in force, a restored policy had no limit. */
  @Test
  @FullSuite(
      reason =
          "as allTopicsLost_aNodeWithAFilePublishesWhatWasPublished, which always runs; a deletion"
              + " takes seconds")
  void topicsLost_whatIsRestoredOfALaterPolicyIsInForceUntilThen() throws Exception {
    AppliedFile file = file("first", 1);
    follower("one", file);
    Instant then = Instant.ofEpochMilli(clock.get()).plus(Duration.ofHours(1));
    change(PolicyEdits.put(PolicyKey.ofPolicy("first-0"), from(then, bucket("first-0", 9)), 1));
    assertTrue(last().awaitVersion(2, TIMEOUT));
    deleteTopics(List.of(Topics.POLICIES.name(), Topics.CLIENTS.name()));
    createTopics();
    restart("one", file);
    Await.until("it is published", () -> last().inForce().source() == Source.LOG);
    assertEquals(3, last().set().version(), "versions go on");
    assertEquals(5, only(last()).limit().capacityTokens());
    clock.set(then.toEpochMilli());
    Await.until("its time has come", () -> only(last()).limit().capacityTokens() == 9);
  }

  /** Regression: a node ran without limits, and reported that all was well. */
  @Test
  void policiesTopicRecreated_isReported_policiesStayUntilRepublished() throws Exception {
    assertReportedAndUnchanged(Topics.POLICIES.name());
  }

  @Test
  @FullSuite(reason = "as the topic of policies, which always runs; a deletion takes seconds")
  void clientsTopicRecreated_isReported_clientsStayUntilRepublished() throws Exception {
    assertReportedAndUnchanged(Topics.CLIENTS.name());
  }

  /** Regression: its file, which may be older than the published policies, replaced everything. */
  @Test
  void allTopicsLost_aNodeWithAFilePublishesWhatWasPublished() throws Exception {
    AppliedFile file = file("first", 1);
    follower("one", file);
    change(PolicyEdits.put(PolicyKey.ofPolicy("emergency"), bucket("emergency", 1), 0));
    assertTrue(last().awaitVersion(2, TIMEOUT));
    deleteTopics(List.of(Topics.POLICIES.name(), Topics.CLIENTS.name()));
    createTopics();
    restart("one", file);
    Await.until("it is published", () -> last().inForce().source() == Source.LOG);
    assertEquals(Set.of("first-0", "emergency"), names(last()));
    assertEquals(Set.of("first-0", "emergency"), policies(read()));
  }

  private static ObjectNode from(Instant time, ObjectNode policy) {
    return policy.put("effective_from", time.toString());
  }

  private void assertReportedAndUnchanged(String topic) throws Exception {
    change(PolicyEdits.apply(file("all", 2)));
    follower("one", null);
    deleteTopics(List.of(topic));
    createTopics();
    Await.until("the running node reports it", () -> last().problem() != null);
    restart("one", null);
    assertEquals(Set.of("all-0", "all-1"), names(last()));
    assertEquals(2, last().set().clients().settings().size());
    Await.until(
        "a problem", () -> String.valueOf(last().problem()).contains(topic + " lacks version 1"));
    assertEquals(
        Reason.INVALID, reason(PolicyEdits.put(PolicyKey.ofPolicy("c"), bucket("c", 5), 0)));

    Outcome whole = change(PolicyEdits.apply(file("new", 1)));
    assertEquals(2, whole.after().version());
    assertTrue(last().awaitVersion(2, TIMEOUT));
    assertEquals(Set.of("new-0"), names(last()));
    assertEquals(Set.of("new-0"), last().set().clients().settings().keySet());
    Await.until("nothing is wrong", () -> last().problem() == null);
  }
}
