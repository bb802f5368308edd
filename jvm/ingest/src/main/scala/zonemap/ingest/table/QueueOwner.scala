// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.table

import scala.annotation.tailrec
import scala.util.Try

import zonemap.ingest.queue.QueueIdentity
import zonemap.ingest.store.IngestFiles

/**
 * Decides whether the queue of an ingest root belongs to a catalog entry. A table that `register_table` has copied has
 * the UUID, the location and so the ingest root of the original, and its committer would take the appends of the
 * original.
 *
 * The root has a mark with the catalog entries of its table and the pointers that the table is known to have had. A
 * committer removes records from the queue only after the mark names the pointer that settles them. Marks are numbered
 * files that are created and never changed: the one who creates the next number has seen the mark before it.
 *
 * @param entry the entry that the table was loaded from
 */
private[zonemap] final class QueueOwner(files: IngestFiles, entry: CatalogEntry) {
  import QueueOwner._

  /**
   * The mark of the root, read before the metadata that it is compared with.
   *
   * @throws IngestStoppedException if the mark names other entries, or cannot be read
   */
  def checked(): Found = {
    val found = read()
    check(found)
    found
  }

  /** As [[checked]], but ignores marks that cannot be read; for work that writes a mark. */
  def checkEntry(): Unit = check(listed())

  private def check(found: Found): Unit =
    found.mark.filterNot(_.admits(entry)).foreach(mark => throw otherEntry(mark))

  /** As [[checked]], then compares the history of the table; for work that looks at no state. */
  def verify(catalog: IngestCatalog): Unit = {
    val found = checked()
    if (found.mark.isDefined) checkHistory(found, catalog.load())
  }

  /** @throws IngestStoppedException if the table never had a pointer that the mark names */
  def checkHistory(found: Found, view: TableView): Unit =
    found.mark.flatMap(_.pointers.find { case (branch, text) => !hadPointer(view, branch, text) }).foreach {
      case (branch, text) => throw otherHistory(branch, text)
    }

  /**
   * Lets the root name the entry and the pointers of the table.
   *
   * @param found the mark that the caller has compared with the table
   * @param branch a branch whose pointer may be in a summary only
   * @return `false` if another process has written a mark meanwhile, so that the caller must compare again
   */
  def advance(found: Found, view: TableView, branch: String): Boolean = {
    val pointers = pointersOf(view, branch)
    found.mark match {
      case Some(mark) if mark.names(entry) && mark.pointers == pointers => true
      case None if newerElsewhere(view, pointers).isDefined             => false
      case _ => create(found, found.mark.getOrElse(Unmarked).copy(pointers = pointers).withEntry(entry))
    }
  }

  /**
   * Lets the root name the pointer of a commit that has landed.
   *
   * @param view the metadata from which the commit started
   * @return whether the root names it now. If not, the queue stays as it is, and the next pass compares again
   */
  def landed(view: TableView, branch: String, pointer: IngestPointer): Boolean = {
    val found = read()
    val before = pointersOf(view, branch)
    val after = before + (branch -> pointer.text)
    found.mark.filter(_.admits(entry)).exists { mark =>
      mark.pointers == after || (mark.pointers == before && create(found, mark.copy(pointers = after)))
    }
  }

  /** Lets the root name this entry besides others, and the pointers of the table; a person has decided it. */
  def takeOver(view: TableView, branch: String): Unit = {
    val pointers = pointersOf(view, branch)
    val isDone = (0 until Attempts).exists { _ =>
      val found = listed()
      create(found, found.mark.getOrElse(Unmarked).copy(pointers = pointers).withEntry(entry))
    }
    if (!isDone) throw new IllegalStateException(s"Cannot mark the ingest root '${files.root}': $Busy")
  }

  /** Why a root without a mark may belong to another entry; `None` if nothing shows it. */
  def conflict(view: TableView, branch: String): Option[IngestStoppedException] =
    newerElsewhere(view, pointersOf(view, branch)).map((otherHistory _).tupled)

  private def create(found: Found, mark: OwnerMark): Boolean = {
    val no = found.last + 1
    val isNew = files.create(OwnerMark.path(no), OwnerMark.encode(mark))
    // The mark before it stays for a reader that has listed it.
    if (isNew) found.numbers.filter(_ < found.last).foreach(old => files.delete(OwnerMark.path(old)))
    isNew
  }

  private def read(): Found = {
    val found = Iterator.continually(listed()).take(Attempts).dropWhile(f => f.last > 0 && f.mark.isEmpty)
    found.nextOption().getOrElse {
      throw new IngestStoppedException(
        StopCode.StateLost,
        s"Cannot use the ingest queue of '${files.root}': the files of '${OwnerMark.Folder}', which name its table, " +
          "cannot be read. Restore them, or write them anew with ingest_reset."
      )
    }
  }

  /** The newest mark that is whole. One that is not was never acted on: its committer died before it settled. */
  private def listed(): Found = {
    val numbers = files.list(OwnerMark.Folder).flatMap(file => OwnerMark.numberOf(file.path)).sorted
    val marks = numbers.reverseIterator.flatMap { no =>
      files.read(OwnerMark.path(no), OwnerMark.MaxBytes).flatMap(OwnerMark.decode(_).toOption)
    }
    Found(marks.nextOption(), numbers)
  }

  /** Whether the table has the pointer, or had it before the one that it has. */
  private def hadPointer(view: TableView, branch: String, text: String): Boolean =
    view.pointer(branch).exists(leadsTo(_, text)) || view.snapshotOf(branch, text).isDefined

  /** Follows the states from a pointer back to another one. */
  @tailrec
  private def leadsTo(text: String, wanted: String): Boolean = text == wanted || {
    val isLater = numberOf(text).zip(numberOf(wanted)).exists { case (later, earlier) => later > earlier }
    if (isLater) stateOf(text).flatMap(_.prevPointer) match {
      case Some(before) => leadsTo(before, wanted)
      case None         => false
    }
    else false
  }

  private def numberOf(text: String): Option[Long] = Try(IngestPointer.parse(text).no).toOption

  private def stateOf(text: String): Option[LaneState] = read(IngestPointer.parse(text).statePath)

  private def read(path: String): Option[LaneState] =
    files.read(path, StateFile.MaxBytes).flatMap(StateFile.decode(_).toOption)

  /**
   * A state that was written after those of the table, and that names a pointer before it which the table never had:
   * that pointer has landed in another entry. A state alone proves nothing, because it is written before its commit.
   */
  private def newerElsewhere(view: TableView, pointers: Map[String, String]): Option[(String, String)] = {
    val listed = files.list(StateFile.Folder).filter(file => StateFile.isState(file.path))
    val own = pointers.flatMap { case (_, text) => Try(IngestPointer.parse(text).statePath).toOption }.toSet
    val since = listed.filter(file => own(file.path)).map(_.modifiedAtMillis).maxOption
    since.flatMap { millis =>
      listed.filter(_.modifiedAtMillis > millis).flatMap(file => read(file.path)).collectFirst {
        case state if state.prevPointer.exists(isForeign(view, pointers, state.branch, _)) =>
          state.branch -> state.prevPointer.get
      }
    }
  }

  private def isForeign(view: TableView, pointers: Map[String, String], branch: String, text: String): Boolean =
    pointers.contains(branch) && numberOf(text).isDefined && !hadPointer(view, branch, text)

  private def pointersOf(view: TableView, branch: String): Map[String, String] =
    (branch +: view.pointerBranches).distinct.flatMap(b => view.pointer(b).map(b -> _)).toMap

  private def otherEntry(mark: OwnerMark) = stop(
    s"it belongs to the catalog entry ${mark.entries.map(_.text).mkString(", ")}, and this table is ${entry.text}. A copy " +
      "made by register_table has the UUID of the original, and each of both would take the appends to the other",
    "If the other entry is gone, or is the same table under another name, take the queue over with ingest_reset and " +
      "take_over => true."
  )

  private def otherHistory(branch: String, text: String) = stop(
    s"its table has committed '$text' to branch '$branch', and this table has no such commit: it is a copy made by " +
      "register_table, or it was restored from an older version",
    "If this table was restored, or the other one is gone, choose the watermarks with ingest_reset."
  )

  private def stop(why: String, otherwise: String) = new IngestStoppedException(
    StopCode.OtherEntry,
    s"Cannot use the ingest queue of '${files.root}': $why. Give a copy a root of its own, by the table " +
      s"property ${IngestRoot.Property} or ${IngestRoot.Conf} or, in Python, root=$alsoTopic. $otherwise"
  )

  /** A topic has the name of the table's UUID, so another root does not give the copy another topic. */
  private def alsoTopic: String = Try(QueueIdentity.read(files)).toOption.flatten.flatMap(_.topic).fold("") { topic =>
    s", and another topic than '$topic', by the table property ${QueueChoice.PrefixProperty}"
  }
}

private[zonemap] object QueueOwner {

  /** How often marks are read, or written, while other processes write them. */
  val Attempts = 10

  /** The end of a message about a mark that others write all the time. */
  val Busy = "other processes write its marks all the time. Run the call again."

  private val Unmarked = OwnerMark(Nil, Map.empty)

  /**
   * @param mark the newest mark; `None` if the root has none
   * @param numbers those of all marks, in order
   */
  final case class Found(mark: Option[OwnerMark], numbers: Seq[Long]) {

    /** The greatest number; 0 if there is no mark. */
    def last: Long = numbers.lastOption.getOrElse(0L)
  }
}
