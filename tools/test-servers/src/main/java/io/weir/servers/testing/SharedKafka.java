// SPDX-License-Identifier: Apache-2.0
package io.weir.servers.testing;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.apache.kafka.common.errors.UnknownMemberIdException;
import org.jspecify.annotations.Nullable;

/**
 * The broker that the tests of this JVM share. One test at a time borrows the broker. Before the
 * next test, this class deletes all topics and consumer groups. The deletion takes a tenth of the
 * time of a restart. Thread-safe.
 */
final class SharedKafka {
  private static final long LOOK_MILLIS = 10;

  private static @Nullable TestKafka server;
  private static TestKafka.@Nullable Borrowed lent;

  private SharedKafka() {}

  static synchronized TestKafka lend() {
    if (lent != null) {
      throw new IllegalStateException(
          "another test has borrowed the shared broker, and must close it first");
    }
    TestKafka running = server;
    if (running == null) {
      running = TestKafka.start();
      server = running;
      Runtime.getRuntime().addShutdownHook(new Thread(running::close, "shared-kafka-stop"));
    } else {
      empty(running.bootstrapServers());
    }
    TestKafka.Borrowed borrowed = new TestKafka.Borrowed(running);
    lent = borrowed;
    return borrowed;
  }

  static synchronized void takeBack(TestKafka.Borrowed borrowed) {
    if (lent == borrowed) {
      lent = null;
    }
  }

  private static void empty(String bootstrapServers) {
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrapServers))) {
      for (GroupListing group : admin.listGroups().all().get()) {
        removeGroup(admin, group.groupId());
      }
      catchUp(admin);
      admin.deleteTopics(topics(admin)).all().get();
      while (!topics(admin).isEmpty()) {
        TimeUnit.MILLISECONDS.sleep(LOOK_MILLIS);
      }
    } catch (ExecutionException failed) {
      throw new IllegalStateException("the shared broker cannot be emptied", failed.getCause());
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(interrupted);
    }
  }

  /**
   * Waits until the broker lists every topic created so far. The controller confirms a creation
   * before the broker lists the topic. The broker receives new topics in order, so this method
   * creates one more topic and waits for it.
   */
  private static void catchUp(Admin admin) throws ExecutionException, InterruptedException {
    String last = "last-" + Uuid.randomUuid();
    admin.createTopics(List.of(new NewTopic(last, 1, (short) 1))).all().get();
    while (!topics(admin).contains(last)) {
      TimeUnit.MILLISECONDS.sleep(LOOK_MILLIS);
    }
  }

  private static Collection<String> topics(Admin admin)
      throws ExecutionException, InterruptedException {
    return admin.listTopics().names().get();
  }

  /**
   * Deletes a consumer group. Removes the members first: a static member stays in its group after
   * the end of its process, and would prevent the deletion.
   */
  private static void removeGroup(Admin admin, String group)
      throws ExecutionException, InterruptedException {
    List<Throwable> failures = new ArrayList<>();
    try {
      admin
          .removeMembersFromConsumerGroup(group, new RemoveMembersFromConsumerGroupOptions())
          .all()
          .get();
    } catch (ExecutionException noMembers) {
      failures.add(noMembers); // reported only if the deletion also fails
    }
    try {
      admin.deleteConsumerGroups(List.of(group)).all().get();
    } catch (ExecutionException failed) {
      if (!(failed.getCause() instanceof GroupIdNotFoundException)
          && !(failed.getCause() instanceof UnknownMemberIdException)) {
        failures.forEach(failed::addSuppressed);
        throw failed;
      }
    }
  }
}
