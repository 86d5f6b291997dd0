// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.clients;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.weir.cli.console.PolicyText;
import io.weir.cli.console.PublishedPolicies;
import io.weir.cli.console.Terminal;
import io.weir.cli.policies.PublishedPoliciesCommands;
import io.weir.ingest.policy.log.PolicyEditor;
import io.weir.ingest.policy.log.PolicyEdits;
import io.weir.ingest.policy.log.PolicyEntry;
import io.weir.ingest.policy.log.PolicyKey;
import io.weir.ingest.policy.log.PolicyLogState;
import io.weir.limits.Names;
import io.weir.limits.policy.ClientSettings;
import java.io.PrintWriter;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Commands for the settings of single clients. */
@Command(
    name = "clients",
    mixinStandardHelpOptions = true,
    description =
        "Publish the settings of single clients: their plan, the calendar of their quotas and bills,"
            + " and their API keys. Erase the remaining rows of a client.",
    subcommands = {ClientKeysCommand.class, ClientEraseCommand.class})
public final class ClientsCommand {
  @Mixin private final Terminal terminal = new Terminal();

  PublishedPolicies published() {
    return new PublishedPolicies(terminal.weir().kafka());
  }

  @Command(
      name = "list",
      mixinStandardHelpOptions = true,
      description =
          "List the clients that have their own settings: the settings, when they were set, and by whom.")
  int list() {
    PrintWriter out = terminal.out();
    List<PolicyEntry> clients = published().read().clientEntries();
    for (PolicyEntry client : clients) {
      out.printf("%-20s %s%n", client.key().name(), client.content());
      out.printf("%-20s %s%n", "", PublishedPoliciesCommands.since(client));
    }
    out.println(PolicyText.count(clients.size(), "client", "clients"));
    return 0;
  }

  @Command(
      name = "set",
      mixinStandardHelpOptions = true,
      description = {
        "Set a client's plan and calendar. Without an option, its setting keeps its value.",
        "The calendar applies to the client's quotas and bills. A change in the middle of a period makes"
            + " two shorter bills: one bill of the old period, and one bill of the new period. The"
            + " command prints both periods.",
        "Set the client's own limits in a policy file, or over HTTP."
      })
  int set(
      @Parameters(paramLabel = "CLIENT", description = "the client") String client,
      @Option(names = "--plan", paramLabel = "PLAN", description = "the client's plan")
          @Nullable String plan,
      @Option(
              names = "--time-zone",
              paramLabel = "ZONE",
              description =
                  "time zone of the client's days, months and billing periods, such as Europe/Paris"
                      + " (default for bills: UTC)")
          @Nullable String zone,
      @Option(
              names = "--billing-anchor",
              paramLabel = "DATE",
              description =
                  "a day on which a billing period of quotas and bills begins, such as 2026-01-17"
                      + " (default for bills: the 1st)")
          @Nullable String anchor) {
    if (plan == null && zone == null && anchor == null) {
      throw terminal.wrong("give at least one of --plan, --time-zone and --billing-anchor");
    }
    PolicyKey key = key(client);
    return print(
        key,
        published()
            .change(
                "clients set " + client,
                state -> {
                  PolicyEntry present = state.entry(key);
                  JsonNode before = present == null ? null : present.content();
                  ObjectNode content =
                      before instanceof ObjectNode known
                          ? known.deepCopy()
                          : JsonNodeFactory.instance.objectNode();
                  putIfGiven(content, "plan", plan);
                  putIfGiven(content, "time_zone", zone);
                  putIfGiven(content, "billing_anchor", anchor);
                  return PolicyEdits.put(key, content, PolicyEdits.ANY_VERSION).on(state);
                }));
  }

  private static void putIfGiven(ObjectNode content, String field, @Nullable String value) {
    if (value != null) {
      content.put(field, value);
    }
  }

  @Command(
      name = "delete",
      mixinStandardHelpOptions = true,
      description =
          "Delete a client's settings, including its API keys. The client is then an unknown"
              + " client for the policies, and Weir bills it by calendar months in UTC.")
  int delete(@Parameters(paramLabel = "CLIENT", description = "the client") String client) {
    PolicyKey key = key(client);
    return print(
        key,
        published()
            .change("clients delete " + client, PolicyEdits.delete(key, PolicyEdits.ANY_VERSION)));
  }

  private PolicyKey key(String client) {
    return key(client, terminal);
  }

  /** Returns the key of the client that a command's argument names. */
  static PolicyKey key(String client, Terminal terminal) {
    String violation = Names.violation(client);
    if (violation == null) {
      violation = ArgumentText.violation(client, ArgumentText.encoding());
    }
    if (violation != null) {
      throw terminal.wrong("CLIENT " + violation);
    }
    return PolicyKey.ofClient(client);
  }

  private static @Nullable ClientSettings settings(PolicyLogState state, PolicyKey key, long now) {
    return state.set(now).clients().settings().get(key.name());
  }

  private int print(PolicyKey key, PolicyEditor.Outcome outcome) {
    PrintWriter out = terminal.out();
    out.printf(
        "%s; version %d is published%n",
        outcome.isChange() ? "changed" : "nothing to change", outcome.after().version());
    long now = System.currentTimeMillis();
    BillingChange.describe(
            settings(outcome.before(), key, now), settings(outcome.after(), key, now), now)
        .forEach(out::println);
    return 0;
  }
}
