// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.MissingNode;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.yaml.snakeyaml.DumperOptions;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;
import org.yaml.snakeyaml.error.Mark;
import org.yaml.snakeyaml.error.MarkedYAMLException;
import org.yaml.snakeyaml.error.YAMLException;
import org.yaml.snakeyaml.nodes.Tag;
import org.yaml.snakeyaml.representer.Representer;
import org.yaml.snakeyaml.resolver.Resolver;

/**
 * A YAML text as a tree, with its anchors, aliases and merged keys ({@code <<}) resolved. Of the
 * plain scalars only those of YAML 1.2's core schema are more than strings: {@code off}, {@code
 * 2026-01-17} and {@code 1:30} stand for themselves.
 */
final class YamlTree {
  /** Largest file: 100,000 clients with calendars take a tenth of it. */
  private static final int MAX_CHARS = 64 << 20;

  /** Most aliases of mappings and lists; a few for each policy. */
  private static final int MAX_ALIASES = 10_000;

  private static final ObjectMapper MAPPER = new ObjectMapper();

  private YamlTree() {}

  /** A text that is no YAML. */
  static final class NotYamlException extends Exception {
    private static final long serialVersionUID = 1L;

    NotYamlException(String message, YAMLException cause) {
      super(message, cause);
    }
  }

  /**
   * Reads a text.
   *
   * @throws NotYamlException naming line and column, in one line
   */
  static JsonNode of(String yaml) throws NotYamlException {
    LoaderOptions options = new LoaderOptions();
    options.setAllowDuplicateKeys(false);
    options.setCodePointLimit(MAX_CHARS);
    options.setMaxAliasesForCollections(MAX_ALIASES);
    DumperOptions unused = new DumperOptions();
    try {
      Object root =
          new Yaml(
                  new SafeConstructor(options),
                  new Representer(unused),
                  unused,
                  options,
                  new CoreSchema())
              .load(yaml);
      return root == null ? MissingNode.getInstance() : MAPPER.valueToTree(root);
    } catch (MarkedYAMLException marked) {
      throw new NotYamlException(place(marked.getProblemMark()) + marked.getProblem(), marked);
    } catch (YAMLException tooLarge) {
      throw new NotYamlException(
          String.valueOf(tooLarge.getMessage()).lines().findFirst().orElse("?"), tooLarge);
    }
  }

  private static String place(@Nullable Mark mark) {
    return mark == null
        ? ""
        : "line " + (mark.getLine() + 1) + ", column " + (mark.getColumn() + 1) + ": ";
  }

  /** YAML 1.2 §10.3.2, and merged keys. */
  private static final class CoreSchema extends Resolver {
    private static final Pattern BOOL = Pattern.compile("^(?:true|True|TRUE|false|False|FALSE)$");
    private static final Pattern INT = Pattern.compile("^[-+]?(?:0|[1-9][0-9]*)$");
    private static final Pattern FLOAT =
        Pattern.compile("^[-+]?(?:\\.[0-9]+|[0-9]+\\.[0-9]*|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?$");
    private static final Pattern NULL = Pattern.compile("^(?:~|null|Null|NULL| )$");

    @Override
    protected void addImplicitResolvers() {
      addImplicitResolver(Tag.BOOL, BOOL, "tTfF");
      addImplicitResolver(Tag.INT, INT, "-+0123456789");
      addImplicitResolver(Tag.FLOAT, FLOAT, "-+0123456789.");
      addImplicitResolver(Tag.MERGE, MERGE, "<");
      addImplicitResolver(Tag.NULL, NULL, "~nN\0");
      addImplicitResolver(Tag.NULL, EMPTY, null);
    }
  }
}
