// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.StringReader;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.composer.Composer;
import org.yaml.snakeyaml.error.Mark;
import org.yaml.snakeyaml.error.MarkedYAMLException;
import org.yaml.snakeyaml.error.YAMLException;
import org.yaml.snakeyaml.nodes.MappingNode;
import org.yaml.snakeyaml.nodes.Node;
import org.yaml.snakeyaml.nodes.NodeTuple;
import org.yaml.snakeyaml.nodes.ScalarNode;
import org.yaml.snakeyaml.nodes.SequenceNode;
import org.yaml.snakeyaml.nodes.Tag;
import org.yaml.snakeyaml.parser.ParserImpl;
import org.yaml.snakeyaml.reader.StreamReader;
import org.yaml.snakeyaml.resolver.Resolver;

/**
 * A YAML text as a tree, with its anchors, aliases and merge keys ({@code <<}) resolved. A plain
 * scalar has a type other than string only by YAML 1.2's core schema: {@code off}, {@code
 * 2026-01-17} and {@code 1:30} are strings. A key is its literal text: {@code 1.10} is not {@code
 * 1.1}. Not thread-safe.
 */
public final class YamlTree {
  /** Maximum size of a file, in characters; 100,000 clients with calendars take a tenth of it. */
  private static final int MAX_CHARS = 64 << 20;

  /** Maximum number of aliases of mappings and lists; a few for each policy. */
  private static final int MAX_ALIASES = 10_000;

  /**
   * Maximum number of values in a tree, counting the values of an alias at each use. Aliases of
   * aliases can double the number with each line ("billion laughs").
   */
  private static final long MAX_VALUES = 5_000_000;

  /** Maximum nesting depth, including that of aliases in aliases. */
  private static final int MAX_DEPTH = 50;

  /** Every number of at most this many characters, including its sign, fits into a {@code long}. */
  private static final int LONGEST_LONG = 18;

  /**
   * Maximum length of a number; longer ones cannot occur in a policy and only take long to parse.
   */
  private static final int LONGEST_NUMBER = 100;

  private static final JsonNodeFactory NODES = JsonNodeFactory.instance;

  /** The tree of each node already read, reused wherever the node is referenced. */
  private final IdentityHashMap<Node, Part> parts = new IdentityHashMap<>();

  /** The nodes that contain the current node. */
  private final IdentityHashMap<Node, Boolean> within = new IdentityHashMap<>();

  /**
   * Number of entries of all mappings and lists created so far; merged entries count at each use.
   */
  private long made;

  /** Whether plain scalars have the types of the core schema. */
  private final boolean isTyped;

  private YamlTree(boolean isTyped) {
    this.isTyped = isTyped;
  }

  /** Thrown if a text is not valid YAML. */
  public static final class NotYamlException extends Exception {
    private static final long serialVersionUID = 1L;

    NotYamlException(String message) {
      super(message);
    }

    NotYamlException(String message, RuntimeException cause) {
      super(message, cause);
    }
  }

  /** A node's tree, the number of its values, and its depth. */
  private record Part(JsonNode tree, long values, int depth) {}

  /**
   * Parses a text.
   *
   * @throws NotYamlException if it is not valid YAML; the message names the line and the column
   */
  public static JsonNode of(String yaml) throws NotYamlException {
    return of(yaml, true);
  }

  /**
   * Parses a text whose scalars, except {@code null}, are all strings, exactly as written: {@code
   * True} and {@code +49}, which otherwise have a type, remain unchanged.
   *
   * @throws NotYamlException if it is not valid YAML; the message names the line and the column
   */
  public static JsonNode ofTexts(String yaml) throws NotYamlException {
    return of(yaml, false);
  }

  private static JsonNode of(String yaml, boolean isTyped) throws NotYamlException {
    LoaderOptions options = new LoaderOptions();
    options.setCodePointLimit(MAX_CHARS);
    options.setMaxAliasesForCollections(MAX_ALIASES);
    Node root;
    try {
      StreamReader reader = new StreamReader(new StringReader(yaml));
      root =
          new Composer(new ParserImpl(reader, options), new CoreSchema(), options).getSingleNode();
    } catch (MarkedYAMLException marked) {
      throw new NotYamlException(place(marked.getProblemMark()) + marked.getProblem(), marked);
    } catch (YAMLException tooLarge) {
      throw new NotYamlException(
          String.valueOf(tooLarge.getMessage()).lines().findFirst().orElse("?"), tooLarge);
    } catch (RuntimeException unexpected) {
      // thrown by the parser itself: for escapes such as \UFFFFFFFF, and for tags
      throw new NotYamlException("an escape or a tag cannot be read: " + unexpected, unexpected);
    }
    boolean isEmpty =
        root == null || (root instanceof ScalarNode scalar && scalar.getTag().equals(Tag.NULL));
    return isEmpty ? MissingNode.getInstance() : new YamlTree(isTyped).part(root).tree;
  }

  private Part part(Node node) throws NotYamlException {
    Part known = parts.get(node);
    if (known != null) {
      return known;
    }
    if (within.put(node, true) != null) {
      throw refused(node, "an alias is inside the node that it refers to");
    }
    Part read = read(node);
    within.remove(node);
    if (read.depth > MAX_DEPTH) {
      throw refused(node, "the value is nested more than " + MAX_DEPTH + " deep");
    }
    parts.put(node, read);
    return read;
  }

  private Part read(Node node) throws NotYamlException {
    if (node instanceof MappingNode mapping) {
      return mapping(mapping);
    }
    if (node instanceof SequenceNode sequence) {
      return list(sequence);
    }
    return new Part(scalar((ScalarNode) node), 1, 0);
  }

  /** Counts a created entry, and refuses a tree that becomes too large. */
  private void countEntry(Node node, long values) throws NotYamlException {
    made++;
    if (made > MAX_VALUES || values > MAX_VALUES) {
      throw refused(
          node,
          "the file has more than " + MAX_VALUES + " values, with aliases counted at each use");
    }
  }

  private Part list(SequenceNode node) throws NotYamlException {
    requireTag(node, Tag.SEQ);
    ArrayNode list = NODES.arrayNode();
    long values = 1;
    int depth = 0;
    for (Node element : node.getValue()) {
      Part part = part(element);
      list.add(part.tree);
      values += part.values;
      depth = Math.max(depth, part.depth);
      countEntry(element, values);
    }
    return new Part(list, values, depth + 1);
  }

  /**
   * Returns a mapping. Its own keys take precedence over merged ones, and earlier merged keys over
   * later ones.
   */
  private Part mapping(MappingNode node) throws NotYamlException {
    requireTag(node, Tag.MAP);
    ObjectNode mapping = NODES.objectNode();
    List<JsonNode> merged = new ArrayList<>();
    Set<String> keys = new HashSet<>();
    long values = 1;
    int depth = 0;
    for (NodeTuple entry : node.getValue()) {
      String key = key(entry.getKeyNode());
      if (!keys.add(key)) {
        throw refused(entry.getKeyNode(), "found duplicate key " + key);
      }
      Part part = part(entry.getValueNode());
      values += part.values;
      depth = Math.max(depth, part.depth);
      countEntry(entry.getKeyNode(), values);
      if (entry.getKeyNode().getTag().equals(Tag.MERGE)) {
        merged.addAll(mappings(entry.getValueNode(), part.tree));
      } else {
        mapping.set(key, part.tree);
      }
    }
    for (JsonNode other : merged) {
      for (Map.Entry<String, JsonNode> each : other.properties()) {
        if (mapping.putIfAbsent(each.getKey(), each.getValue()) == null) {
          countEntry(node, values);
        }
      }
    }
    return new Part(mapping, values, depth + 1);
  }

  private static List<JsonNode> mappings(Node node, JsonNode merged) throws NotYamlException {
    List<JsonNode> mappings = new ArrayList<>();
    if (merged.isArray()) {
      merged.forEach(mappings::add);
    } else {
      mappings.add(merged);
    }
    if (!mappings.stream().allMatch(JsonNode::isObject)) {
      throw refused(node, "<< takes a mapping or a list of mappings");
    }
    return mappings;
  }

  private static String key(Node node) throws NotYamlException {
    if (!(node instanceof ScalarNode scalar)) {
      throw refused(node, "a key must be a string, not a mapping or a list");
    }
    String text = scalar.getValue();
    if (node.getTag().equals(Tag.NULL)) {
      throw refused(
          node,
          text.isEmpty()
              ? "a key is missing before the colon"
              : "the key " + text + " is not a string; put it in quotation marks");
    }
    if (node.getTag().equals(Tag.MERGE) && !text.equals("<<")) {
      throw refused(node, "only << merges, not " + text);
    }
    return text;
  }

  private JsonNode scalar(ScalarNode node) throws NotYamlException {
    Tag tag = node.getTag();
    String text = node.getValue();
    if (tag.equals(Tag.STR)) {
      return NODES.textNode(text);
    }
    if (tag.equals(Tag.NULL)) {
      return NODES.nullNode();
    }
    if (!isTyped && (tag.equals(Tag.BOOL) || tag.equals(Tag.INT) || tag.equals(Tag.FLOAT))) {
      return NODES.textNode(text);
    }
    if (tag.equals(Tag.BOOL) && CoreSchema.BOOL.matcher(text).matches()) {
      return NODES.booleanNode(text.toLowerCase(Locale.ROOT).equals("true"));
    }
    if ((tag.equals(Tag.INT) || tag.equals(Tag.FLOAT)) && text.length() > LONGEST_NUMBER) {
      throw refused(node, "a number must have at most " + LONGEST_NUMBER + " digits");
    }
    if (tag.equals(Tag.INT) && CoreSchema.INT.matcher(text).matches()) {
      return text.length() > LONGEST_LONG
          ? NODES.numberNode(new BigInteger(text))
          : NODES.numberNode(Long.parseLong(text));
    }
    if (tag.equals(Tag.FLOAT) && CoreSchema.FLOAT.matcher(text).matches()) {
      return NODES.numberNode(Double.parseDouble(text));
    }
    throw refused(
        node, "the type " + tag + " is not allowed in a policy file, or does not match its value");
  }

  private static void requireTag(Node node, Tag tag) throws NotYamlException {
    if (!node.getTag().equals(tag)) {
      throw refused(node, "the type " + node.getTag() + " is not allowed in a policy file");
    }
  }

  private static String place(@Nullable Mark mark) {
    return mark == null
        ? ""
        : "line " + (mark.getLine() + 1) + ", column " + (mark.getColumn() + 1) + ": ";
  }

  private static NotYamlException refused(Node node, String why) {
    return new NotYamlException(place(node.getStartMark()) + why);
  }

  /** The core schema of YAML 1.2 §10.3.2, with merge keys. */
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
