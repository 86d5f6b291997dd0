// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.topics;

import io.weir.aggregator.AggregatorConfig;
import io.weir.aggregator.topology.StreamsSettings;
import io.weir.cli.console.Terminal;
import io.weir.limits.policy.NameList;
import io.weir.topics.catalog.Copies;
import io.weir.topics.catalog.SingleCopy;
import io.weir.topics.catalog.Topic;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.catalog.TopicAdmin.TopicAdminException;
import io.weir.topics.catalog.Topics;
import io.weir.topics.settings.Settings;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Creates the topics, or compares a cluster's topics with the catalogue. */
@Command(
    name = "topics",
    mixinStandardHelpOptions = true,
    description = "Create the topics, or compare them with the catalogue (WEIR_KAFKA).")
public final class TopicsCommand {
  @Mixin private final Terminal terminal = new Terminal();

  @Command(
      name = "create",
      mixinStandardHelpOptions = true,
      description = "Create the missing topics; do not change the others.")
  int create(
      @Option(
              names = "--partitions",
              defaultValue = "12",
              description =
                  "number of partitions of each topic (${DEFAULT-VALUE}); cannot change after calls are counted")
          int partitions,
      @Option(
              names = "--replication-factor",
              description =
                  "number of replicas of each partition, at least 3 (default: 3). If"
                      + " WEIR_SINGLE_COPY is 'allow', at least 1 (default: Kafka's default)")
          @Nullable Short replicationFactor)
      throws TopicAdminException {
    terminal.require(partitions >= 1, "--partitions must be at least 1, but is " + partitions);
    boolean mayBeSingle = singleCopy() == SingleCopy.ALLOW;
    short copies = mayBeSingle ? 0 : copies(replicationFactor);
    PrintWriter out = terminal.out();
    List<String> lacking;
    try (TopicAdmin admin = connect()) {
      int present = admin.callsPartitions();
      int ofEach = present == 0 ? partitions : present;
      List<String> created =
          mayBeSingle
              ? admin.createMissing(ofEach, Optional.ofNullable(replicationFactor))
              : admin.createMissingInCopies(ofEach, copies);
      for (Topic topic : Topics.all()) {
        out.printf(
            "%-24s %s%n",
            topic.name(), created.contains(topic.name()) ? "created" : "exists already");
      }
      lacking = mayBeSingle ? List.of() : admin.lackingCopies(Topics::contains);
    }
    lacking.forEach(out::println);
    return lacking.isEmpty() ? 0 : 1;
  }

  private short copies(@Nullable Short replicationFactor) {
    if (replicationFactor != null && replicationFactor < Copies.LEAST) {
      throw terminal.wrong(
          "--replication-factor must be at least "
              + Copies.LEAST
              + ", but is "
              + replicationFactor
              + "; set "
              + SingleCopy.VARIABLE
              + "=allow to use fewer copies");
    }
    return replicationFactor == null ? Copies.LEAST : replicationFactor;
  }

  private SingleCopy singleCopy() {
    return Settings.of(terminal.weir().environment())
        .choice(SingleCopy.VARIABLE, SingleCopy.REFUSE);
  }

  @Command(
      name = "check",
      mixinStandardHelpOptions = true,
      description =
          "Compare the cluster's topics with the catalogue; exits with 1 on a difference.")
  int check() throws TopicAdminException {
    PrintWriter out = terminal.out();
    try (TopicAdmin admin = connect()) {
      List<String> differences = new ArrayList<>(admin.differences());
      String prefix =
          terminal
              .weir()
              .setting("WEIR_APPLICATION_PREFIX", AggregatorConfig.DEFAULT_APPLICATION_PREFIX);
      List<String> lacking =
          admin.lackingCopies(
              name -> Topics.contains(name) || StreamsSettings.isInternalTopic(prefix, name));
      if (singleCopy() == SingleCopy.REFUSE) {
        differences.addAll(lacking);
      } else {
        together(lacking).forEach(lack -> out.println("allowed by WEIR_SINGLE_COPY: " + lack));
      }
      differences.forEach(out::println);
      if (differences.isEmpty()) {
        out.printf("%d topics agree with the catalogue%n", Topics.all().size());
      }
      return differences.isEmpty() ? 0 : 1;
    }
  }

  /**
   * Returns the sentences. Sentences that state the same deviation of several topics are joined
   * into one.
   */
  static List<String> together(List<String> lacking) {
    Map<String, String> lacks = new LinkedHashMap<>(); // by topic
    for (String sentence : lacking) {
      String[] parts = sentence.split(" has ", 2);
      lacks.merge(parts[0], parts[1], (one, other) -> one + ", and " + other);
    }
    Map<String, List<String>> topics = new LinkedHashMap<>();
    lacks.forEach(
        (topic, lack) -> topics.computeIfAbsent(lack, none -> new ArrayList<>()).add(topic));
    List<String> sentences = new ArrayList<>();
    topics.forEach(
        (lack, names) ->
            sentences.add(
                NameList.of(names, "and") + (names.size() == 1 ? " has " : " have ") + lack));
    return sentences;
  }

  private TopicAdmin connect() {
    return TopicAdmin.connect(terminal.weir().kafka());
  }
}
