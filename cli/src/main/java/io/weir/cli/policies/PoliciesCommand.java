// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.policies;

import com.fasterxml.jackson.databind.JsonNode;
import io.weir.cli.console.CommandFailedException;
import io.weir.cli.console.PolicyText;
import io.weir.cli.console.Terminal;
import io.weir.cli.envoy.EnvoyImport;
import io.weir.ingest.policy.PolicyFile;
import io.weir.ingest.policy.YamlTree;
import io.weir.limits.IpAddress;
import io.weir.limits.Names;
import io.weir.limits.policy.CallFacts;
import io.weir.limits.policy.Policy;
import io.weir.limits.policy.PolicyAdvice;
import io.weir.limits.policy.PolicySet;
import io.weir.topics.catalog.Topics;
import io.weir.topics.model.CallEvent;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Commands for policy files. */
@Command(
    name = "policies",
    mixinStandardHelpOptions = true,
    description = {
      "Check a policy file before you publish it, and publish policies.",
      "Published policies are in force on every node within a second."
    },
    subcommands = {
      PublishedPoliciesCommands.Apply.class,
      PublishedPoliciesCommands.Diff.class,
      PublishedPoliciesCommands.Listing.class,
      PublishedPoliciesCommands.Export.class,
      PublishedPoliciesCommands.History.class,
      PublishedPoliciesCommands.Switch.class
    },
    footer = {"", "If no file is given, WEIR_POLICIES names the file (policies.yml)."})
public final class PoliciesCommand {
  @Mixin private final Terminal terminal = new Terminal();

  @Command(
      name = "check",
      mixinStandardHelpOptions = true,
      description = {
        "Validate a policy file. Exits with 1 and prints every problem if the file is wrong.",
        "For a valid file, prints which calls each policy matches, its limit and possible mistakes."
      })
  int check(
      @Parameters(arity = "0..1", paramLabel = "FILE", description = "the policy file (YAML)")
          @Nullable Path file,
      @Option(
              names = "--against-usage",
              description =
                  "also compare with the usage that the aggregators have counted (needs"
                      + " WEIR_KAFKA). Print the meters, endpoints and clients that policies name,"
                      + " but that no counted call has. Also print the buckets that several meters share")
          boolean againstUsage) {
    PrintWriter out = terminal.out();
    Path read = fileOf(file, terminal);
    PolicySet set = read(read, out);
    if (set == null) {
      return 1;
    }
    for (Policy policy : set.policies()) {
      out.printf("%-20s %s%n", policy.name(), PolicyText.of(policy));
      out.printf("%-20s for %s%n", "", PolicyText.of(policy.match()));
    }
    List<PolicyAdvice.Advice> advice = new ArrayList<>(PolicyAdvice.of(set));
    if (againstUsage) {
      advice.addAll(usageAdvice(set, out));
    } else {
      // counted usage shows more precisely which buckets several meters share
      advice.addAll(PolicyAdvice.onMissingMeters(set));
    }
    advice.forEach(one -> out.printf("check: %s %s%n", one.subject(), one.text()));
    out.printf(
        "%s is valid: %s%s%s%n",
        read,
        PolicyText.count(set.policies().size(), "policy", "policies"),
        advice.isEmpty() ? "" : ", " + advice.size() + " to check",
        set.clients().settings().isEmpty()
            ? ""
            : ", clients with their own settings: " + set.clients().settings().size());
    return 0;
  }

  private List<PolicyAdvice.Advice> usageAdvice(PolicySet set, PrintWriter out) {
    UsedNames used = UsedNames.read(terminal.weir().kafka());
    if (used.skipped() > 0) {
      out.println(
          PolicyText.count(used.skipped(), "record", "records")
              + " of "
              + Topics.STATE.name()
              + " cannot be read and were skipped; 'weir verify' lists them");
    }
    if (used.isEmpty()) {
      out.println("no calls are counted yet, so there is nothing to compare with");
      return List.of();
    }
    return set.policies().stream()
        .flatMap(
            policy ->
                used.adviceOn(policy).stream().map(text -> PolicyAdvice.Advice.on(policy, text)))
        .toList();
  }

  @Command(
      name = "explain",
      mixinStandardHelpOptions = true,
      description = {
        "Show which policies of a file decide a call, with their order, limits and buckets. Also "
            + "show why the other policies do not apply. If a policy denies every such call, the "
            + "output begins with this policy.",
        "Uses neither Redis nor Kafka."
      })
  int explain(
      @Option(
              names = "--client",
              required = true,
              paramLabel = "NAME",
              description = "the client of the call")
          String client,
      @Option(
              names = "--endpoint",
              paramLabel = "NAME",
              defaultValue = CallEvent.DEFAULT_ENDPOINT,
              description = "the endpoint of the call (${DEFAULT-VALUE})")
          String endpoint,
      @Option(
              names = "--meter",
              paramLabel = "NAME",
              defaultValue = CallEvent.DEFAULT_METER,
              description = "the meter of the call (${DEFAULT-VALUE})")
          String meter,
      @Option(names = "--ip", paramLabel = "ADDRESS", description = "the caller's IP address")
          @Nullable String ip,
      @Option(
              names = "--attribute",
              paramLabel = "NAME=VALUE",
              description = "an attribute of the call; may be given several times")
          @Nullable Map<String, String> attributes,
      @Parameters(arity = "0..1", paramLabel = "FILE", description = "the policy file (YAML)")
          @Nullable Path file) {
    requireName("--client", client);
    requireName("--endpoint", endpoint);
    requireName("--meter", meter);
    IpAddress address = ip == null ? null : IpAddress.parse(ip);
    if (ip != null && address == null) {
      throw terminal.wrong("--ip must be an IPv4 or IPv6 address, but is '" + ip + "'");
    }
    PrintWriter out = terminal.out();
    PolicySet set = read(fileOf(file, terminal), out);
    if (set == null) {
      return 1;
    }
    CallFacts call =
        new CallFacts(client, endpoint, meter, address, attributes == null ? Map.of() : attributes);
    new PolicyExplanation(set, call).print(out, Instant.now());
    return 0;
  }

  @Command(
      name = "schema",
      mixinStandardHelpOptions = true,
      description = {
        "Print the JSON Schema of policy files, for editors.",
        "A YAML file names the schema in its first line: # yaml-language-server: $schema=policies.schema.json"
      })
  int schema() {
    terminal.print(PolicyFile.schema());
    return 0;
  }

  @Command(
      name = "import",
      mixinStandardHelpOptions = true,
      description = {
        "Convert configurations of Envoy's rate limit service (envoyproxy/ratelimit) into a policy"
            + " file, and print it.",
        "If a setting has no counterpart in Weir, the command prints its path in the file and exits "
            + "with 1. The command publishes nothing."
      })
  int importEnvoy(
      @Option(
              names = "--envoy",
              required = true,
              paramLabel = "FILE",
              description =
                  "a configuration (YAML); may be given several times, one for each domain")
          List<Path> files) {
    EnvoyImport imported = new EnvoyImport();
    List<String> problems = new ArrayList<>();
    for (Path file : files) {
      try {
        imported.add(file.toString(), YamlTree.ofTexts(Files.readString(file)));
      } catch (YamlTree.NotYamlException notYaml) {
        problems.add(file + ": " + notYaml.getMessage());
      } catch (NoSuchFileException missing) {
        throw new CommandFailedException(file + " does not exist", missing);
      } catch (IOException unreadable) {
        throw new CommandFailedException(file + " " + PolicyFile.reason(unreadable), unreadable);
      }
    }
    problems.addAll(imported.problems());
    JsonNode tree = imported.policies();
    if (problems.isEmpty() && PolicyFile.of(tree) instanceof PolicyFile.Content.Invalid invalid) {
      invalid
          .problems()
          .forEach(problem -> problems.add("the result is not a valid policy file: " + problem));
    }
    if (!problems.isEmpty()) {
      PrintWriter err = terminal.err();
      problems.forEach(err::println);
      err.println(PolicyText.count(problems.size(), "problem", "problems"));
      return 1;
    }
    terminal.print(PolicyFile.yaml(tree));
    return 0;
  }

  private void requireName(String option, String name) {
    String violation = Names.violation(name);
    if (violation != null) {
      throw terminal.wrong(option + " " + violation);
    }
  }

  /** Returns the policy file: the given file, or else the file that WEIR_POLICIES names. */
  static Path fileOf(@Nullable Path given, Terminal terminal) {
    return given == null
        ? Path.of(terminal.weir().setting("WEIR_POLICIES", "policies.yml"))
        : given;
  }

  private static @Nullable PolicySet read(Path file, PrintWriter out) {
    PolicyFile.Content.Valid valid = readValid(file, out);
    return valid == null ? null : valid.policies();
  }

  /**
   * Returns the content of a policy file. If the file is invalid, prints its problems and returns
   * null.
   */
  static PolicyFile.Content.@Nullable Valid readValid(Path file, PrintWriter out) {
    if (!Files.isRegularFile(file)) {
      throw new CommandFailedException(
          Files.exists(file) ? file + " is not a file" : file + " does not exist");
    }
    PolicyFile.Content content;
    try {
      content = PolicyFile.read(file);
    } catch (IOException unreadable) {
      throw new CommandFailedException(file + " " + PolicyFile.reason(unreadable), unreadable);
    }
    if (content instanceof PolicyFile.Content.Invalid invalid) {
      List<String> problems = invalid.problems();
      problems.forEach(problem -> out.println(file + ": " + problem));
      out.println(PolicyText.count(problems.size(), "problem", "problems"));
      return null;
    }
    return (PolicyFile.Content.Valid) content;
  }
}
