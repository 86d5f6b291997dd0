// SPDX-License-Identifier: Apache-2.0
/**
 * One codec per record, bytes in and out; depends on the model and a streaming JSON library.
 *
 * <p>Every object on the wire is flat JSON in UTF-8. Readers ignore members they do not know, so
 * that members can be added; a reader never guesses a member that is missing, unless its Javadoc
 * names the default.
 */
@NullMarked
package io.weir.topics.wire;

import org.jspecify.annotations.NullMarked;
