// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.limits.Names;
import io.weir.limits.policy.ClientSettings;
import io.weir.limits.policy.PolicySet;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.function.Consumer;
import org.yaml.snakeyaml.DumperOptions;
import org.yaml.snakeyaml.Yaml;

/**
 * Reads and writes policy files. Weir refuses the whole file if one policy is invalid, so that it
 * never enforces a part of the file. All problems of the file are reported.
 */
public final class PolicyFile {
  /** Maximum number of clients with settings. The maximum bounds the memory of a node. */
  public static final int MAX_CLIENTS = 1_000_000;

  /** Maximum number of plans. */
  public static final int MAX_PLANS = 1_000;

  /** The field that sets the time from which a policy is in force. */
  public static final String EFFECTIVE_FROM = "effective_from";

  private static final String SCHEMA = "policies.schema.json";
  private static final int YAML_WIDTH = 120;
  private static final ObjectMapper JSON = new ObjectMapper();

  private PolicyFile() {}

  /** The result of reading a file. */
  public sealed interface Content {
    /**
     * The content of a valid file, which may have no policies.
     *
     * @param tree the file as a JSON tree, with anchors and aliases resolved
     */
    record Valid(PolicySet policies, JsonNode tree) implements Content {}

    /**
     * The problems of an invalid file.
     *
     * @param problems 1 to 101 lines of printable text; each names the place in the file and the
     *     rule
     */
    record Invalid(List<String> problems) implements Content {
      public Invalid {
        problems = problems.stream().map(Shown::inOneLine).toList();
      }
    }
  }

  /**
   * Reads a file.
   *
   * @throws IOException if the file cannot be read
   */
  public static Content read(Path file) throws IOException {
    return parse(Files.readString(file));
  }

  /** Returns the reason why a file could not be read, as a phrase that follows the file's name. */
  public static String reason(IOException unreadable) {
    if (unreadable instanceof CharacterCodingException) {
      return "is not encoded in UTF-8";
    }
    return unreadable instanceof AccessDeniedException
        ? "is not readable for this user"
        : "cannot be read: " + unreadable;
  }

  /** Parses a file's text. */
  public static Content parse(String yaml) {
    JsonNode root;
    try {
      root = YamlTree.of(yaml);
    } catch (YamlTree.NotYamlException notYaml) {
      return new Content.Invalid(List.of(notYaml.getMessage()));
    }
    return of(root);
  }

  /**
   * Returns the time from which a valid policy is in force, in milliseconds since the epoch; 0 if
   * the policy sets no time.
   */
  public static long effectiveFromMillis(JsonNode policy) {
    JsonNode from = policy.path(EFFECTIVE_FROM);
    return from.isMissingNode()
        ? 0
        : OffsetDateTime.parse(from.asText()).toInstant().toEpochMilli();
  }

  /**
   * Returns the JSON Schema (2020-12) of policy files, for editors. The schema accepts every file
   * that {@link #parse} accepts, and refuses most files with an invalid field.
   */
  public static String schema() {
    try (InputStream in = PolicyFile.class.getResourceAsStream(SCHEMA)) {
      if (in == null) {
        throw new IllegalStateException("missing resource: " + SCHEMA);
      }
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
  }

  /** Writes a tree as the YAML text of a policy file. */
  public static String yaml(JsonNode tree) {
    DumperOptions options = new DumperOptions();
    options.setDefaultFlowStyle(DumperOptions.FlowStyle.BLOCK);
    options.setIndicatorIndent(2);
    options.setIndentWithIndicator(true);
    options.setWidth(YAML_WIDTH);
    return new Yaml(options).dump(JSON.convertValue(tree, Object.class));
  }

  /** Reads the parsed content of a complete file. */
  public static Content of(JsonNode root) {
    return read(root, true);
  }

  /** Reads the parsed content of a part of a file. The part may refer to other parts. */
  public static Content part(JsonNode root) {
    return read(root, false);
  }

  /**
   * Reads the settings of one client. The settings may refer to policies and plans in other parts.
   *
   * @param problems receives the list of problems if the settings are invalid
   */
  public static ClientSettings client(
      String client, JsonNode content, Consumer<List<String>> problems) {
    PolicyReader reader = new PolicyReader(false);
    ClientSettings settings = reader.client(client, content);
    report(reader.problems(), problems);
    return settings;
  }

  /** Reports a client whose name violates the rule for names. */
  public static void refuseBadClient(String client, Consumer<List<String>> problems) {
    if (Names.violation(client) != null) {
      FieldReader fields = new FieldReader();
      PolicyReader.refuseBadClient(client, fields);
      report(fields.problems(), problems);
    }
  }

  private static void report(List<String> found, Consumer<List<String>> problems) {
    if (!found.isEmpty()) {
      problems.accept(new Content.Invalid(found).problems());
    }
  }

  private static Content read(JsonNode root, boolean isWhole) {
    PolicyReader reader = new PolicyReader(isWhole);
    PolicySet policies = reader.read(root);
    return reader.problems().isEmpty()
        ? new Content.Valid(policies, root)
        : new Content.Invalid(reader.problems());
  }
}
